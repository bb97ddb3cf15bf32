"""The benchmark's generator sends each request once."""

import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tools.bench.load import Generator, PythonLoop, RequestSource, post
from tools.bench.load import generator as make_generator


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
    with Server(("127.0.0.1", 0), Echo) as echo:
        thread = threading.Thread(target=echo.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield echo
        echo.shutdown()
        thread.join()


def feed(port: int, count: int) -> RequestSource:
    heads = [post("/call", port, key) for key in ("first", "second")]
    lines = [(n % 2, f'{{"n":{n},"say":"{"no" if n % 4 == 0 else "yes"}"}}') for n in range(count)]
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
