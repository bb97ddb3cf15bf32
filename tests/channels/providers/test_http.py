"""The point at which a connection breaks decides whether a message may be retried: real sockets."""

import logging
import socket
import ssl
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Semaphore
from typing import Any

import pytest

from channels.providers.base import AmbiguousError, SendError, TransientError
from channels.providers.telegram_bot.provider import TelegramBot
from tests.certificates import certificate
from tests.channels.providers.http_responses import ACCEPTED, http_response
from tests.channels.providers.vendors import BOT_TOKEN, bot, message
from tests.loopback import Handler, read_request, read_to_end, server

MESSAGE_ID = f"{BOT_TOKEN.split(':')[0]}:{message().chat_id}:42"
# Seconds that an account waits for its vendor.
PATIENT = 20.0
IMPATIENT = 0.3


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@contextmanager
def account(port: int, scheme: str = "http", timeout: float = PATIENT) -> Iterator[TelegramBot]:
    provider = bot(api_url=f"{scheme}://127.0.0.1:{port}", timeout=(timeout, timeout))
    yield provider


def failure(port: int, scheme: str = "http", timeout: float = PATIENT) -> SendError:
    with account(port, scheme, timeout) as provider, pytest.raises(SendError) as caught:
        provider.send(message())
    assert BOT_TOKEN not in repr(caught.value)
    assert caught.value.__context__ is None
    return caught.value


def test_refused_connection_is_definite() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    error = failure(port)

    assert type(error) is TransientError
    assert error.detail == "ConnectionRefusedError"


def test_unknown_host_is_definite(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(*args: object, **kwargs: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", nowhere)

    error = failure(80)

    assert type(error) is TransientError
    assert error.detail == "gaierror"


def test_connect_timeout_is_definite() -> None:
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for taken in (first, second):  # with its backlog full, the kernel drops the next caller
            taken.setblocking(False)
            taken.connect_ex(full.getsockname())

        error = failure(full.getsockname()[1], timeout=IMPATIENT)

    assert type(error) is TransientError
    assert error.detail == "TimeoutError"


@pytest.mark.parametrize(
    ("handle", "patience"),
    [
        (lambda connection: connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"), PATIENT),
        (read_to_end, IMPATIENT),
    ],
    ids=["no TLS", "endless handshake"],
)
def test_handshake_that_fails_is_definite(handle: Handler, patience: float) -> None:
    with server(handle) as port:
        error = failure(port, "https", patience)

    assert type(error) is TransientError


def test_untrusted_certificate_is_definite(tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate(tmp_path, 1))

    def handshake(connection: socket.socket) -> None:
        with pytest.raises(OSError, match=r"(?i)unknown ca|certificate"):
            context.wrap_socket(connection, server_side=True)

    with server(handshake) as port:
        error = failure(port, "https")

    assert type(error) is TransientError
    assert error.detail == "SSLCertVerificationError"


def silence(connection: socket.socket) -> None:
    read_request(connection)
    connection.recv(1)  # until the caller gives up


def reset_after_reading(connection: socket.socket) -> None:
    read_request(connection)
    reset(connection)


def close_after_reading(connection: socket.socket) -> None:
    read_request(connection)


def half_an_answer(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(http_response(ACCEPTED[:20], length=len(ACCEPTED)))


def half_an_answer_then_silence(connection: socket.socket) -> None:
    half_an_answer(connection)
    connection.recv(1)


def no_http(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"220 smtp.example.com ready\r\n")


def bad_gzip(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(http_response(ACCEPTED, "Content-Encoding: gzip"))


@pytest.mark.parametrize(
    "handle",
    [
        silence,
        reset_after_reading,
        close_after_reading,
        half_an_answer,
        half_an_answer_then_silence,
        no_http,
        bad_gzip,
    ],
)
def test_failure_after_the_request_is_sent_is_ambiguous(handle: Handler) -> None:
    with server(handle) as port:
        error = failure(port, timeout=IMPATIENT)

    assert type(error) is AmbiguousError
    assert error.code == "no_answer"


def test_failed_request_is_not_repeated() -> None:
    seen: list[bytes] = []

    def note_and_close(connection: socket.socket) -> None:
        seen.append(read_request(connection))

    with server(note_and_close) as port:
        failure(port)

    assert len(seen) == 1


def test_connection_closed_while_idle_is_replaced() -> None:
    closed = Semaphore(0)

    def once(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(http_response(ACCEPTED))
        connection.shutdown(socket.SHUT_RDWR)
        closed.release()

    with server(once) as port, account(port) as provider:
        for _ in range(3):
            assert provider.send(message()).provider_id == MESSAGE_ID
            assert closed.acquire(timeout=PATIENT)


def test_idle_connection_is_kept_alive() -> None:
    with server(keep_alive([])) as port, account(port) as provider:
        provider.send(message())
        pool: Any = provider._connections._pool_of_url[0].pool
        connection = pool.queue[-1]
        alive = connection.sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)

    assert alive == 1


def keep_alive(seen: list[bytes]) -> Handler:
    def handle(connection: socket.socket) -> None:
        while request := read_request(connection):
            seen.append(request)
            connection.sendall(http_response(ACCEPTED, "Set-Cookie: sid=1; Path=/"))

    return handle


def test_one_connection_serves_many_messages_and_keeps_no_cookie() -> None:
    seen: list[bytes] = []

    # The server takes one connection at a time: a second one would never be answered.
    with server(keep_alive(seen)) as port, account(port) as provider:
        for _ in range(3):
            provider.send(message())

    assert len(seen) == 3
    assert not any(b"cookie" in request.lower() for request in seen)
    assert seen[0].startswith(f"POST /bot{BOT_TOKEN}/sendMessage HTTP/1.1\r\n".encode())


def test_netrc_and_proxy_variables_are_ignored(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login a password b")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    seen: list[bytes] = []

    with server(keep_alive(seen)) as port, account(port) as provider:
        provider.send(message())

    assert b"authorization" not in seen[0].lower()


@pytest.mark.parametrize("header", ["Set-Cookie: sid=1; Path=/", "no colon"])
def test_debug_logs_hold_no_token(caplog: pytest.LogCaptureFixture, header: str) -> None:
    caplog.set_level(logging.DEBUG)

    def accept(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(http_response(ACCEPTED, header))

    with server(accept) as port, account(port) as provider:
        provider.send(message())

    assert BOT_TOKEN not in caplog.text


def test_many_threads_share_an_account() -> None:
    with (
        server(keep_alive([]), in_parallel=True) as port,
        account(port) as provider,
        ThreadPoolExecutor(8) as pool,
    ):
        ids = list(pool.map(lambda _: provider.send(message()).provider_id, range(64)))

    assert ids == [MESSAGE_ID] * 64
