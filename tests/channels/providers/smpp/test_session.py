"""A session with a centre that breaks the protocol."""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from channels.providers.smpp.pdu import Pdu
from channels.providers.smpp.session import Session

SUBMIT_RESP, ENQUIRE_RESP, NACK = 0x8000_0004, 0x8000_0015, 0x8000_0000
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
    """Its sequence number, and its response."""
    fields = {"source_addr": "a", "destination_addr": "1", "short_message": b"x"}
    answer = session.request("submit_sm", **fields)
    (sequence,) = session._responses
    return sequence, answer


async def answered(answer: "asyncio.Future[Pdu]") -> Pdu:
    async with asyncio.timeout(10):
        return await answer


@pytest.mark.parametrize("stray", [ENQUIRE_RESP, NACK])
def test_response_to_another_command_accepts_nothing(stray: int) -> None:
    async def scene(session: Session, centre: socket.socket) -> None:
        sequence, answer = submitted(session)
        body = b"m1\0"
        right = struct.pack(">4L", 16 + len(body), SUBMIT_RESP, 0, sequence) + body

        await asyncio.get_running_loop().sock_sendall(centre, header(stray, sequence) + right)

        assert (await answered(answer)).fields["message_id"] == b"m1"

    play(scene)


def test_generic_nack_refuses_the_request() -> None:
    async def scene(session: Session, centre: socket.socket) -> None:
        sequence, answer = submitted(session)

        await asyncio.get_running_loop().sock_sendall(centre, header(NACK, sequence, status=2))

        assert (await answered(answer)).status == 2

    play(scene)


def test_centre_that_reads_nothing_is_not_read_for_ever() -> None:
    async def scene(session: Session, centre: socket.socket) -> None:
        flood = header(ENQUIRE, 1) * 100_000

        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.get_running_loop().sock_sendall(centre, flood), 3)

        assert session._writer.transport.get_write_buffer_size() < 2**17

    play(scene)
