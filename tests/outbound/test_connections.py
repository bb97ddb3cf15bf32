"""A peer can hold only bounded time, memory and threads of a caller."""

import gzip
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest
from urllib3.exceptions import HTTPError

from outbound.connections import MAX_BODY, BodyTooLongError, Connections, TooManyCallsError
from tests.certificates import certificate
from tests.loopback import Handler, read_request, server

TIMEOUT = 0.6  # seconds for the whole response
PAUSE = 0.05  # between two bytes of a slow peer: each arrives in time
OK = b"HTTP/1.1 200 OK\r\n"


@contextmanager
def peer(*handlers: Handler) -> Iterator[int]:
    """Serves one connection after another, each by the next handler; yields its port."""
    left = list(handlers)

    def handle(connection: socket.socket) -> None:
        read_request(connection)
        left.pop(0)(connection)

    with server(handle) as port:
        yield port


def connections(port: int, proxy: str = "", scheme: str = "http") -> Connections:
    return Connections(f"{scheme}://127.0.0.1:{port}", (TIMEOUT, TIMEOUT), proxy)


def drip(start: bytes, repeated: bytes) -> Handler:
    def handle(connection: socket.socket) -> None:
        connection.sendall(start)
        while True:
            connection.sendall(repeated)
            time.sleep(PAUSE)

    return handle


def send(*parts: bytes) -> Handler:
    return lambda connection: connection.sendall(b"".join(parts))


@pytest.mark.parametrize(
    ("start", "repeated"),
    [
        (b"", b"H"),
        (OK, b"X-A: b\r\n"),
        (OK + b"X-A: ", b"b"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (OK + b"\r\n", b" "),
        (OK + b"Content-Length: 500\r\n\r\n", b" "),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"0"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X-A: b\r\n"),
    ],
)
def test_response_that_drips_ends_in_time(start: bytes, repeated: bytes) -> None:
    with peer(drip(start, repeated)) as port:
        begun = time.monotonic()
        with pytest.raises(HTTPError):
            connections(port).request("GET", "/", {})

    assert time.monotonic() - begun < TIMEOUT + 2


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_proxy_that_drips_ends_in_time(scheme: str) -> None:
    with peer(drip(OK, b"X-A: b\r\n")) as port:
        begun = time.monotonic()
        with pytest.raises(HTTPError):
            connections(1, f"http://127.0.0.1:{port}", scheme).request("GET", "/", {})

    assert time.monotonic() - begun < TIMEOUT + 2


BOMB = gzip.compress(b" " * (50 * MAX_BODY))


@pytest.mark.parametrize(
    "response",
    [
        OK + b"\r\n" + b" " * (2 * MAX_BODY),
        OK + b"Content-Length: 99999999999\r\n\r\n" + b" " * (2 * MAX_BODY),
        OK + b"Transfer-Encoding: chunked\r\n\r\nfffffffff\r\n" + b" " * (2 * MAX_BODY),
        OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(BOMB) + BOMB,
    ],
    ids=["until-close", "length", "chunk", "gzip"],
)
def test_long_body_is_not_read_to_its_end(response: bytes) -> None:
    with peer(send(response)) as port, pytest.raises(BodyTooLongError):
        connections(port).request("GET", "/", {})


@pytest.mark.parametrize(
    "response",
    [
        OK + b"Content-Length: 10\r\n\r\n{}",
        OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n-5\r\n{}\r\n",
    ],
)
def test_cut_body_is_an_error(response: bytes) -> None:
    with peer(send(response)) as port, pytest.raises(HTTPError):
        connections(port).request("GET", "/", {})


@pytest.mark.parametrize(
    ("response", "body"),
    [
        (OK + b"Content-Length: 2\r\n\r\n{}", b"{}"),
        (OK + b"Content-Length: 0\r\n\r\n", b""),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n", b"{}"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
    ],
)
def test_connection_is_kept_and_each_response_has_its_whole_time(
    response: bytes, body: bytes
) -> None:
    def answer_slowly(connection: socket.socket) -> None:
        for has_next in (True, True, False):
            time.sleep(TIMEOUT * 0.6)
            connection.sendall(response)
            if has_next:
                read_request(connection)

    with peer(answer_slowly) as port:
        to_peer = connections(port)
        assert [to_peer.request("GET", "/", {}).body for _ in range(3)] == [body] * 3
        assert to_peer._pool_of_url[0].num_connections == 1


@pytest.mark.parametrize("interim", [b"103 Early Hints\r\nLink: </a>", b"102 Processing"])
def test_response_is_of_its_own_request(interim: bytes) -> None:
    """Earlier bytes must not be left to the next request."""

    def respond(connection: socket.socket) -> None:
        for number in range(3):
            connection.sendall(b"HTTP/1.1 " + interim + b"\r\n\r\n")
            time.sleep(PAUSE)
            connection.sendall(OK + b"Content-Length: 1\r\n\r\n%d" % number)
            read_request(connection)

    with peer(respond) as port:
        to_peer = connections(port)
        responses = [to_peer.request("POST", "/", {}, b"{}") for _ in range(3)]

    assert [(each.status, each.body) for each in responses] == [
        (200, b"0"),
        (200, b"1"),
        (200, b"2"),
    ]


@pytest.mark.parametrize("line", ["no colon", "A name: x", "A-Name : x", "Имя: x", "\x00", ":"])
def test_line_that_is_not_a_header_hides_no_header(line: str) -> None:
    def respond(connection: socket.socket) -> None:
        for number in range(2):
            head = OK + line.encode() + b"\r\nContent-Length: 1\r\nRetry-After: 7\r\n\r\n"
            connection.sendall(head + b"%d" % number)
            read_request(connection)

    with peer(respond) as port:
        to_peer = connections(port)
        responses = [to_peer.request("GET", "/", {}) for _ in range(2)]

    assert [each.body for each in responses] == [b"0", b"1"]
    assert [each.headers["retry-after"] for each in responses] == ["7", "7"]


@pytest.mark.parametrize("head", [b"A: " + b"x" * 70_000, b"no colon\r\n" * 200, b"A: b\r\n" * 200])
def test_endless_headers_are_an_error(head: bytes) -> None:
    with peer(send(OK, head, b"\r\n\r\n")) as port, pytest.raises(HTTPError):
        connections(port).request("GET", "/", {})


def test_calls_at_a_time_are_bounded() -> None:
    has_call = Event()
    may_answer = Event()

    def hang(connection: socket.socket) -> None:
        has_call.set()
        may_answer.wait(5)
        connection.sendall(OK + b"Content-Length: 0\r\n\r\n")

    with peer(hang) as port:
        to_peer = Connections(f"http://127.0.0.1:{port}", (5.0, 5.0), max_calls=1)
        first = Thread(target=to_peer.request, args=("GET", "/", {}))
        first.start()
        has_call.wait(5)
        with pytest.raises(TooManyCallsError):
            to_peer.request("GET", "/", {})
        may_answer.set()
        first.join(5)
        with to_peer.one_call():
            pass  # it is free again


def test_own_authority_is_trusted_only_by_its_account(tmp_path: Path) -> None:
    pem = certificate(tmp_path, 30)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)

    def respond(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as encrypted:
            encrypted.recv(65536)
            encrypted.sendall(OK + b"Content-Length: 2\r\n\r\n{}")

    def call(ca_file: str) -> bytes:
        with server(respond) as port:
            url = f"https://localhost:{port}"
            return Connections(url, (5.0, 5.0), ca_file=ca_file).request("GET", "/", {}).body

    assert call(str(pem)) == b"{}"
    with pytest.raises(HTTPError, match="CERTIFICATE_VERIFY_FAILED"):
        call("")
