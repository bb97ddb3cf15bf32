"""The SMPP bind: lost, refused, restored, and never more requests in flight than its window."""

import asyncio
import logging
import socket
import ssl
import struct
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from channels.providers.base import AmbiguousError, ThrottledError, TransientError
from channels.providers.smpp import bind
from channels.providers.smpp.pdu import Pdu
from channels.providers.smpp.session import Session
from tests.channels.providers.centre import (
    Bound,
    Centre,
    Kept,
    accept,
    account,
    keep_silent,
    refused,
    respond_with,
)
from tests.channels.providers.vendors import message
from tests.ports import free_port
from tests.stack.programs import wait_until
from tests.webhooks.certificates import server_context


def test_throttled_account_pauses_and_resumes(centre: Centre, kept: Kept) -> None:
    centre.judge = respond_with(0x58)
    opened = threading.Semaphore(0)
    smpp = account(centre.port)
    smpp.start(store=kept, on_open=opened.release)
    assert opened.acquire(timeout=25)

    error = refused(smpp)

    assert isinstance(error, ThrottledError)
    assert error.retry_after is not None
    assert opened.acquire(timeout=25)
    wait_until(lambda: smpp.is_open)
    assert smpp.send(message()).provider_id
    smpp.stop()


def test_broken_connection_makes_written_requests_ambiguous(kept: Kept) -> None:
    deaf = Deaf(hangs_up=True)
    smpp = account(deaf.port, timeout=(25.0, 60.0))
    smpp.start(store=kept, on_open=lambda: None)
    wait_until(lambda: smpp.is_open)

    error = refused(smpp)

    assert (type(error), error.code, error.detail) == (AmbiguousError, "no_answer", "LostError")
    smpp.stop()
    deaf.close()


def test_without_a_bind_nothing_was_written(kept: Kept) -> None:
    smpp = account(free_port())
    assert isinstance(refused(smpp), TransientError)
    smpp.start(store=kept, on_open=lambda: None)

    error = refused(smpp)

    assert (type(error), error.code, smpp.is_open) == (TransientError, "not_bound", False)
    smpp.stop()


def test_window_bounds_unanswered_requests(centre: Centre, bound: Bound) -> None:
    centre.judge = keep_silent
    smpp = bound(window=3, timeout=(25.0, 60.0))
    with ThreadPoolExecutor(6) as pool:
        sending = [pool.submit(smpp.send, message()) for _ in range(6)]
        wait_until(lambda: len(centre.submitted) == 3)
        time.sleep(0.1)
        under_way = (len(centre.submitted), smpp.details()["unanswered"])
        for number in range(6):
            wait_until(lambda number=number: len(centre.submitted) > number)  # type: ignore[misc]
            accept(centre.submitted[number], f"m{number}")
        accepted = {future.result(25).provider_id for future in sending}

    assert under_way == (3, 3)
    assert accepted == {f"m{number}" for number in range(6)}


def test_bind_reconnects_after_an_unbind(centre: Centre, bound: Bound) -> None:
    smpp = bound()

    centre.leave()
    wait_until(lambda: smpp.is_open and centre.esme is not None)

    assert smpp.send(message()).provider_id == "m00001"


def test_silent_centre_does_not_delay_stop(kept: Kept) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        smpp = account(silent.getsockname()[1], timeout=(300.0, 300.0))
        smpp.start(store=kept, on_open=lambda: None)
        peer, _ = silent.accept()

        smpp.stop()

        peer.close()
    assert not smpp.is_open


def test_dead_connection_is_detected_and_closed(kept: Kept) -> None:
    """A centre that accepts, lets in, and then says nothing any more."""
    deaf = Deaf()
    smpp = account(deaf.port, enquire=0.05)
    smpp.start(store=kept, on_open=lambda: None)
    wait_until(lambda: deaf.came >= 1)

    wait_until(lambda: deaf.asked >= 1)

    smpp.stop()
    deaf.close()


class Deaf:
    """Answers a bind and nothing else; counts binds and questions, hangs up on a message."""

    def __init__(
        self, *, hangs_up: bool = False, tls: ssl.SSLContext | None = None, brings: bytes = b""
    ) -> None:
        self.hangs_up = hangs_up
        self.tls = tls
        self.brings = brings
        self.responses: list[bytes] = []
        self.came = 0
        self.asked = 0
        self.port = free_port()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_until_complete, args=[self._live()], daemon=True
        )
        self._ended = asyncio.Event()
        self._thread.start()

    async def _live(self) -> None:
        server = await asyncio.start_server(self._on_connect, "127.0.0.1", self.port, ssl=self.tls)
        await self._ended.wait()
        server.close()

    async def _on_connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while octets := await reader.read(4096):
            if octets[7] == 0x09:
                self.came += 1
                writer.write(b"\0\0\0\x11\x80\0\0\x09\0\0\0\0" + octets[12:16] + b"\0")
                writer.write(self.brings)
            elif octets[4:8] == b"\0\0\0\x15":
                self.asked += 1
            elif octets[4]:
                self.responses.append(octets)
            elif octets[7] == 0x04 and self.hangs_up:
                break
        writer.close()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(5)
        self._loop.close()


def test_receipt_by_data_sm_is_stored_and_acknowledged(kept: Kept) -> None:
    addresses = b"\0" + b"\1\1998901234567\0" + b"\5\0Kvitok\0" + b"\4\0\0"
    # Its id, and that it is delivered
    receipt_tlvs = b"\x00\x1e\x00\x03AF\0" + b"\x04\x27\x00\x01\x02"
    length = 16 + len(addresses + receipt_tlvs)
    deaf = Deaf(brings=struct.pack(">4L", length, 0x103, 0, 77) + addresses + receipt_tlvs)
    smpp = account(deaf.port)
    smpp.start(store=kept, on_open=lambda: None)

    result = kept.first()

    wait_until(lambda: bool(deaf.responses))
    assert (result.provider_id, result.state, result.phone) == ("af", "delivered", "+998901234567")
    assert deaf.responses[0][4:16] == struct.pack(">3L", 0x80000103, 0, 77)
    smpp.stop()
    deaf.close()


@pytest.mark.parametrize("command", [0x05, 0x103])
def test_receipt_that_cannot_be_read_is_refused_and_reported(kept: Kept, command: int) -> None:
    body = b"\0" + b"\1\1998901234567\0"
    deaf = Deaf(brings=struct.pack(">4L", 16 + len(body), command, 0, 77) + body)
    smpp = account(deaf.port)
    smpp.start(store=kept, on_open=lambda: None)

    wait_until(lambda: bool(deaf.responses) and bool(kept.events))

    assert deaf.responses[0][4:16] == struct.pack(">3L", 0x80000000 | command, 0x64, 77)
    assert [alert.detail for events in kept.events for alert in events.alerts] == ["unreadable"]
    smpp.stop()
    deaf.close()


def test_bind_fails_over_to_the_second_host(
    centre: Centre, kept: Kept, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, bind.logger.name)
    smpp = account(centre.port, host=f"127.0.0.1:{free_port()},127.0.0.1")
    smpp.start(store=kept, on_open=lambda: None)

    wait_until(lambda: smpp.is_open)

    assert smpp.send(message()).provider_id == "m00001"
    assert "no bind with 127.0.0.1" in caplog.text
    smpp.stop()


def test_certificate_is_verified_by_the_accounts_ca(kept: Kept, tmp_path: Path) -> None:
    context, roots = server_context(tmp_path, "localhost")
    deaf = Deaf(tls=context)
    trusting, other = (
        account(deaf.port, tls=True, host="localhost", ca_file=file) for file in (str(roots), "")
    )

    for smpp in (trusting, other):
        smpp.start(store=kept, on_open=lambda: None)
    wait_until(lambda: trusting.is_open)

    assert (other.is_open, deaf.came) == (False, 1)
    for smpp in (trusting, other):
        smpp.stop()
    deaf.close()


def test_tls_refuses_a_certificate_of_another_host(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, bind.logger.name)
    context, roots = server_context(tmp_path, "localhost")
    monkeypatch.setenv("SSL_CERT_FILE", str(roots))
    deaf = Deaf(tls=context)
    trusted, strange = (
        account(deaf.port, tls=True, host=host) for host in ("localhost", "127.0.0.1")
    )

    for smpp in (trusted, strange):
        smpp.start(store=kept, on_open=lambda: None)
    wait_until(lambda: trusted.is_open)
    wait_until(lambda: "no bind with 127.0.0.1: SSLCertVerificationError" in caplog.text)

    assert (strange.is_open, deaf.came) == (False, 1)
    for smpp in (trusted, strange):
        smpp.stop()
    deaf.close()


SUBMIT_RESP = 0x8000_0004
ENQUIRE_RESP = 0x8000_0015
NACK = 0x8000_0000
ENQUIRE = 0x15
Play = Callable[[Session, socket.socket], Awaitable[None]]


def play(scene: Play) -> None:
    async def run() -> None:
        ours, centre = socket.socketpair()
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)  # what is unread is soon seen
        centre.setblocking(False)
        streams = await asyncio.open_connection(sock=ours)
        session = Session(*streams, window=1, deliver=lambda _session, _pdu: None)
        reading = asyncio.create_task(session.read())
        try:
            await scene(session, centre)
        finally:
            session.close()
            centre.close()
            await asyncio.gather(reading, return_exceptions=True)

    asyncio.run(run())


def header(command: int, sequence: int, status: int = 0) -> bytes:
    return struct.pack(">4L", 16, command, status, sequence)


def submitted(session: Session) -> "tuple[int, asyncio.Future[Pdu]]":
    """Returns the sequence number of the submission, and its response."""
    fields = {"source_addr": "a", "destination_addr": "1", "short_message": b"x"}
    response = session.request("submit_sm", **fields)
    (sequence,) = session._responses
    return sequence, response


async def answered(response: "asyncio.Future[Pdu]") -> Pdu:
    async with asyncio.timeout(10):
        return await response


@pytest.mark.parametrize("stray", [ENQUIRE_RESP, NACK])
def test_response_to_another_command_accepts_nothing(stray: int) -> None:
    async def scene(session: Session, centre: socket.socket) -> None:
        sequence, response = submitted(session)
        body = b"m1\0"
        right = struct.pack(">4L", 16 + len(body), SUBMIT_RESP, 0, sequence) + body

        await asyncio.get_running_loop().sock_sendall(centre, header(stray, sequence) + right)

        assert (await answered(response)).fields["message_id"] == b"m1"

    play(scene)


def test_generic_nack_refuses_the_request() -> None:
    async def scene(session: Session, centre: socket.socket) -> None:
        sequence, response = submitted(session)

        await asyncio.get_running_loop().sock_sendall(centre, header(NACK, sequence, status=2))

        assert (await answered(response)).status == 2

    play(scene)


def test_message_centre_that_reads_nothing_is_disconnected() -> None:
    async def scene(session: Session, centre: socket.socket) -> None:
        flood = header(ENQUIRE, 1) * 100_000

        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.get_running_loop().sock_sendall(centre, flood), 3)

        assert session._writer.transport.get_write_buffer_size() < 2**17

    play(scene)
