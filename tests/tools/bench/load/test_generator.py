"""The two load generators, against a small server."""

import shutil
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tools.bench.load import (
    Connection,
    Generator,
    PythonLoop,
    RequestSource,
    Wrk,
    ask,
    head,
    post,
    whole,
)
from tools.bench.load import generator as make_generator
from tools.stack.stack import CannotMeasureError


class Echo(BaseHTTPRequestHandler):
    """Refuses a body that says no; remembers what it was sent."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet, or the client's system waits for more
    seen: Counter[str]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.seen[f"{self.headers['Authorization']} {body.decode()}"] += 1
        self.send_response(422 if b"no" in body else 200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: Any) -> None:
        """Says nothing."""


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """The load ends with requests under way."""


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    Echo.seen = Counter()
    with Server(("127.0.0.1", 0), Echo) as one:
        thread = threading.Thread(target=one.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield one
        one.shutdown()
        thread.join()


def feed(port: int, many: int) -> RequestSource:
    heads = [post("/call", port, key) for key in ("first", "second")]
    lines = [(n % 2, f'{{"n":{n},"say":"{"no" if n % 4 == 0 else "yes"}"}}') for n in range(many)]
    return RequestSource(heads, lines)


@pytest.fixture(params=["own", "wrk"])
def generate(request: pytest.FixtureRequest, tmp_path: Path) -> Generator:
    if request.param == "wrk" and shutil.which("wrk") is None:
        pytest.skip("wrk is not installed")
    return PythonLoop() if request.param == "own" else make_generator(tmp_path)


def test_every_request_is_sent_once_as_it_was_made(
    server: ThreadingHTTPServer, generate: Generator
) -> None:
    generate.prepare(feed(server.server_port, 50_000))

    load = generate.run(server.server_port, 2, 1)

    assert load.requests > 50
    assert (load.broken, load.starved) == (0, 0)
    assert abs(load.refused - load.requests / 4) <= 4
    assert 0 < load.p50 <= load.p99
    assert set(Echo.seen.values()) == {1}
    assert 'Bearer second {"n":1,"say":"yes"}' in Echo.seen


def test_exhausted_requests_are_reported(server: ThreadingHTTPServer, generate: Generator) -> None:
    generate.prepare(feed(server.server_port, 10))

    assert generate.run(server.server_port, 1, 1).starved > 0


def test_requests_that_may_be_repeated_are(
    server: ThreadingHTTPServer, generate: Generator
) -> None:
    few = feed(server.server_port, 10)
    few.again = True
    generate.prepare(few)

    load = generate.run(server.server_port, 1, 1)

    assert (load.requests > 10, load.starved) == (True, 0)


def test_wrk_failure_is_reported(tmp_path: Path) -> None:
    failing = Wrk("/bin/false", tmp_path)
    failing.prepare(RequestSource(["GET / HTTP/1.1\r\n"], [(0, "")]))

    with pytest.raises(CannotMeasureError, match="wrk failed"):
        failing.run(1, 1, 1)


def test_without_wrk_our_own_client_does_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert isinstance(make_generator(tmp_path), PythonLoop)


def test_one_request_is_asked_and_answered(server: ThreadingHTTPServer) -> None:
    call = whole(post("/call", server.server_port, "key"), '{"say":"no"}')

    answer = ask(server.server_port, call)

    assert (answer.status, answer.json()) == (422, {})


def test_chunked_response_is_read_whole() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        connection = Connection(listener.getsockname()[1])
        peer = listener.accept()[0]
        with peer:
            response = b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{"a\r\n'
            peer.sendall(response)
            assert connection.hear() is None
            peer.sendall(b'4\r\n":1}\r\n0\r\n\r\n')
            answer = connection.hear()
        connection.close()

    assert answer is not None
    assert (answer.status, answer.json()) == (200, {"a": 1})


def test_request_head_has_the_given_headers() -> None:
    text = head("GET", "/x", 80, User_Agent="me")

    assert text == "GET /x HTTP/1.1\r\nHost: 127.0.0.1:80\r\nUser-Agent: me\r\n"
    assert whole(text, "") == f"{text}\r\n".encode()
