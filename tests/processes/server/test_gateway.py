"""The gateway under granian: hostile bodies, headers and slow readers."""

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.config.small_web import BOUNDS, DEADLINE, LONG_BODY_SIZE
from tests.ports import free_port
from tests.stack import resource_usage
from tests.stack.programs import Program, wait_until

THREADS = 4  # of the small web process
POST = "POST / HTTP/1.1\r\nHost: x\r\n"
CHUNKED = "Transfer-Encoding: chunked\r\n"
SECONDS = 10.0  # a busy machine may take

Ask = Callable[..., "Connection"]


class Connection:
    """A connection to the small web process that exchanges bytes."""

    def __init__(self, port: int, request: str = "") -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=SECONDS)
        self.say(request)

    def say(self, text: str) -> None:
        self.socket.sendall(text.encode("latin-1"))

    def read(self) -> bytes:
        """The bytes received until it is closed."""
        result = b""
        while part := self.socket.recv(65_536):
            result += part
        return result

    def status(self) -> int:
        return int(self.socket.recv(4096).split(b" ", 2)[1])

    def json(self) -> dict[str, Any]:
        head, _, body = self.socket.recv(65_536).partition(b"\r\n\r\n")
        assert b" 200 " in head.partition(b"\r\n")[0], head
        loads: dict[str, Any] = orjson.loads(body)
        return loads


def small_web(folder: Path) -> Program:
    port = free_port()
    command = ["-m", "tests.config.small_web", str(port)]
    url = f"http://127.0.0.1:{port}/"
    program = Program(command, log=folder / "web.log", environ=os.environ, url=url)
    program.start()
    return program


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    program = small_web(tmp_path_factory.mktemp("small"))
    yield program
    program.terminate()
    program.wait_stopped()


@pytest.fixture
def ask(web: Program) -> Iterator[Ask]:
    """Opens connections, each with its first request; closes them after the test."""
    opened = []

    def connect(request: str = "") -> Connection:
        opened.append(Connection(int(web.command[-1]), request))
        return opened[-1]

    yield connect
    for connection in opened:
        connection.socket.close()


def body_of(length: int, sender: str = "a", *more: str) -> str:
    lines = [f"X-Sender: {sender}", f"Content-Length: {length}", *more]
    return POST + "\r\n".join(lines) + "\r\n\r\n"


def chunks(*parts: str, sender: str = "a") -> str:
    framed = "".join(f"{len(part):x}\r\n{part}\r\n" for part in parts)
    return f"{POST}X-Sender: {sender}\r\n{CHUNKED}\r\n{framed}"


# --- Bodies


@pytest.mark.parametrize(
    "request_text",
    [body_of(5) + "hello", chunks("he", "llo", ""), chunks("hello", "")],
    ids=["length", "chunks", "one chunk"],
)
def test_body_reaches_the_application_with_its_length(ask: Ask, request_text: str) -> None:
    seen = ask(request_text).json()

    assert (seen["body"], seen["CONTENT_LENGTH"]) == ("hello", "5")
    assert "HTTP_TRANSFER_ENCODING" not in seen


def test_body_may_come_in_pieces(ask: Ask) -> None:
    connection = ask(body_of(5))
    for letter in "hello":
        time.sleep(0.02)
        connection.say(letter)

    assert connection.json()["body"] == "hello"


def test_connection_is_reused_after_a_body(ask: Ask) -> None:
    connection = ask()

    for text in ("one", "two", "six"):
        connection.say(body_of(3) + text)
        assert connection.json()["body"] == text


def test_slow_body_is_refused_at_its_deadline(ask: Ask) -> None:
    started = time.monotonic()
    connection = ask(body_of(1000))
    connection.socket.settimeout(0.1)
    response = b""
    while not response:
        assert time.monotonic() < started + SECONDS
        connection.say("x")
        try:
            response = connection.socket.recv(1000)
        except TimeoutError:
            continue

    assert response.startswith(b"HTTP/1.1 408")
    assert response.endswith(b"request_timeout")
    assert time.monotonic() - started >= DEADLINE


def test_cut_body_closes_the_connection(ask: Ask) -> None:
    started = time.monotonic()

    response = ask(body_of(1000) + "half").read()

    assert response.startswith(b"HTTP/1.1 408")
    assert time.monotonic() - started < SECONDS


@pytest.mark.parametrize("request_text", [body_of(1000), chunks("x")], ids=["length", "chunks"])
def test_slow_bodies_hold_no_thread(ask: Ask, request_text: str) -> None:
    slow = [ask(request_text) for _ in range(THREADS * 4)]
    started = time.monotonic()

    responses = [ask(body_of(2, "b") + "ok").json()["body"] for _ in range(20)]

    assert responses == ["ok"] * 20
    assert time.monotonic() - started < DEADLINE
    assert [connection.status() for connection in slow] == [408] * len(slow)


def test_body_not_admitted_is_not_received(ask: Ask) -> None:
    started = time.monotonic()

    response = ask(f"{POST}Content-Length: 10000000000\r\n\r\n").read()

    assert response.startswith(b"HTTP/1.1 401")
    assert time.monotonic() - started < DEADLINE


def test_body_longer_than_allowed_is_not_received(ask: Ask) -> None:
    assert ask(body_of(1001)).read().startswith(b"HTTP/1.1 401")


def test_chunks_longer_than_allowed_are_cut_one_byte_later(ask: Ask) -> None:
    seen = ask(chunks("x" * 900, "y" * 900)).json()

    assert seen["body"] == "x" * 900 + "y" * 900
    assert int(seen["CONTENT_LENGTH"]) > 1000


@pytest.mark.parametrize(
    "request_text", [body_of(9) + "half", chunks("half"), chunks("half") + "5\r\nxx"]
)
def test_body_that_ends_early_does_not_reach_the_application(ask: Ask, request_text: str) -> None:
    connection = ask(request_text)
    time.sleep(0.1)
    connection.socket.shutdown(socket.SHUT_WR)

    assert b" 200 " not in connection.read()


def test_senders_slow_body_is_evicted_for_its_next(ask: Ask) -> None:
    slow = [ask(body_of(9, "c")) for _ in range(BOUNDS.max_per_sender)]
    time.sleep(BOUNDS.slow + 0.1)

    assert ask(body_of(2, "c") + "ok").json()["body"] == "ok"
    assert slow[0].status() == 408


def test_one_sender_cannot_use_all_slots(ask: Ask) -> None:
    slow = [ask(body_of(9, "d")) for _ in range(BOUNDS.max_per_sender)]
    time.sleep(0.05)

    refused = ask(body_of(2, "d") + "o").status()
    other = ask(body_of(2, "e") + "ok").json()["body"]

    assert (refused, other) == (503, "ok")
    assert len(slow) == BOUNDS.max_per_sender


def test_stopping_process_refuses_slow_bodies(tmp_path: Path) -> None:
    web = small_web(tmp_path)
    port = int(web.command[-1])
    with ExitStack() as stack:
        slow = [Connection(port, body_of(1000, str(number))) for number in range(9)]
        for connection in slow:
            stack.enter_context(connection.socket)
        time.sleep(0.1)

        web.terminate()

        assert [connection.status() for connection in slow] == [503] * 9
        web.wait_stopped()


# --- Headers


@pytest.mark.parametrize("name", ["X_Forwarded_For", "X_FORWARDED-FOR", "x-forwarded_for"])
@pytest.mark.parametrize("is_first", [True, False])
def test_names_with_underscores_are_dropped(ask: Ask, name: str, *, is_first: bool) -> None:
    lines = ["X-Forwarded-For: 198.51.100.9", f"{name}: 10.0.0.1"]
    lines = lines[::-1] if is_first else lines

    seen = ask("GET / HTTP/1.1\r\nHost: x\r\n" + "\r\n".join(lines) + "\r\n\r\n").json()

    assert seen["HTTP_X_FORWARDED_FOR"] == "198.51.100.9"


def test_header_lines_of_one_name_are_joined_in_order(ask: Ask) -> None:
    lines = ["X-Forwarded-For: 10.0.0.1", "Cookie: a=1", "x-forwarded-for: 198.51.100.9"]
    lines += ["Cookie: b=2"]

    seen = ask("GET / HTTP/1.1\r\nHost: x\r\n" + "\r\n".join(lines) + "\r\n\r\n").json()

    assert seen["HTTP_X_FORWARDED_FOR"] == "10.0.0.1,198.51.100.9"
    assert seen["HTTP_COOKIE"] == "a=1; b=2"


def test_unreadable_address_is_refused_rather_than_lost(ask: Ask) -> None:
    unreadable = "X-Forwarded-For: \xe9, 198.51.100.9"

    assert ask(f"GET / HTTP/1.1\r\nHost: x\r\n{unreadable}\r\n\r\n").status() == 400
    other = ask("GET / HTTP/1.1\r\nHost: x\r\nReferer: \xe9\r\n\r\n").json()
    assert other["HTTP_REFERER"] == ""


def test_headers_have_a_bound(ask: Ask) -> None:
    head = "GET / HTTP/1.1\r\nHost: x\r\nCookie: "

    assert ask(f"{head}{'a' * 30_000}\r\n\r\n").status() == 200
    with suppress(ConnectionError):  # it is closed before it is read whole
        assert ask(f"{head}{'a' * 100_000}\r\n\r\n").status() == 431


def test_environment_of_the_process_is_not_in_the_environ(ask: Ask) -> None:
    seen = ask("GET /%D1%84?a=b HTTP/1.1\r\nHost: x:1\r\n\r\n").json()

    assert "PATH" not in seen
    assert seen["PATH_INFO"].encode("latin-1").decode() == "/ф"
    assert (seen["QUERY_STRING"], seen["HTTP_HOST"], seen["REMOTE_ADDR"]) == (
        "a=b",
        "x:1",
        "127.0.0.1",
    )


def test_http2_without_tls_is_not_spoken(ask: Ask) -> None:
    response = ask("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\0\0\0\4\0\0\0\0\0").read()

    assert not response.startswith(b"\0")


# --- Responses in front of the application


def test_request_without_a_body_is_answered_early(ask: Ask) -> None:
    assert ask("GET /early HTTP/1.1\r\nHost: x:1\r\n\r\n").json() == {"early": "x:1"}


@pytest.mark.parametrize(
    "framing", ["Content-Length: 2\r\n\r\nok", f"{CHUNKED}\r\n2\r\nok\r\n0\r\n\r\n"]
)
def test_request_with_a_body_reaches_the_application(ask: Ask, framing: str) -> None:
    seen = ask(f"GET /early HTTP/1.1\r\nHost: x\r\nX-Sender: a\r\n{framing}").json()

    assert seen["body"] == "ok"


@pytest.mark.parametrize("start", ["GET /", "POST /early", "HEAD /early"])
def test_other_requests_reach_the_application(ask: Ask, start: str) -> None:
    response = ask(f"{start} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").read()

    assert response.startswith(b"HTTP/1.1 200")
    assert b'"early"' not in response
    assert b"application/json" in response


def test_unreadable_address_is_refused_early(ask: Ask) -> None:
    start = "GET /early HTTP/1.1\r\nHost: x\r\n"

    assert ask(f"{start}X-Forwarded-For: \xe9\r\n\r\n").status() == 400


# --- Answers


def test_long_answer_arrives_whole_with_its_length(ask: Ask) -> None:
    response = ask("GET /long HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").read()

    head, _, body = response.partition(b"\r\n\r\n")
    assert f"content-length: {LONG_BODY_SIZE}".encode() in head.lower()
    assert body == b"x" * LONG_BODY_SIZE


def test_slow_readers_hold_neither_threads_nor_memory(ask: Ask, web: Program) -> None:
    before = _memory(web)
    readers = THREADS * 4
    for _ in range(readers):
        ask("GET /long HTTP/1.1\r\nHost: x\r\n\r\n")
    time.sleep(0.5)
    started = time.monotonic()

    responses = [ask(body_of(2, "b") + "ok").json()["body"] for _ in range(20)]

    assert responses == ["ok"] * 20
    assert time.monotonic() - started < SECONDS
    assert _memory(web) - before < readers * LONG_BODY_SIZE / 2


def test_client_that_reads_nothing_is_disconnected(ask: Ask, web: Program) -> None:
    connection = ask()
    connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.say("GET /long HTTP/1.1\r\nHost: x\r\n\r\n")
    time.sleep(BOUNDS.unread + 2)

    with pytest.raises(ConnectionResetError):
        connection.read()


def test_threads_and_descriptors_are_released(ask: Ask, web: Program) -> None:
    time.sleep(0.5)  # until the connections of other tests are closed
    before = resource_usage.usage_of([web])

    slow = [ask(body_of(1000, str(number))) for number in range(30)]
    wait_until(lambda: resource_usage.usage_of([web]).files >= before.files + 25)

    assert [connection.status() for connection in slow] == [408] * 30
    wait_until(lambda: not resource_usage.usage_of([web]).exceeds(before, threads=THREADS, files=2))


def _memory(web: Program) -> int:
    """Returns the resident bytes of the process and its children."""
    pids = list(resource_usage.tree(web.running.pid))
    text = [Path(f"/proc/{pid}/statm").read_text().split() for pid in set(pids)]
    return sum(int(fields[1]) for fields in text) * os.sysconf("SC_PAGE_SIZE")
