"""The load sends each request exactly once."""

import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tools.bench.load import post, whole
from tools.bench.profile.windows import drive
from tools.stack.stack import CannotMeasureError


class Recorder(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet, or the client's system waits for more
    seen: Counter[str]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.seen[body] += 1
        self.send_response(422 if body == "refused" else 200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_arguments: object) -> None:
        return


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    Recorder.seen = Counter()
    with ThreadingHTTPServer(("127.0.0.1", 0), Recorder) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.mark.parametrize("connections", [1, 3, 12])
def test_each_request_is_sent_once(server: ThreadingHTTPServer, connections: int) -> None:
    port = server.server_address[1]
    requests = [whole(post("/", port, "key"), f"body {number}") for number in range(10)]

    taken = drive(port, requests, connections)

    assert Recorder.seen == {f"body {number}": 1 for number in range(10)}
    assert len(taken) == 10
    assert min(taken) > 0


def test_refusal_ends_the_measurement(server: ThreadingHTTPServer) -> None:
    port = server.server_address[1]

    with pytest.raises(CannotMeasureError, match="answered 422: ok"):
        drive(port, [whole(post("/", port, "key"), "refused")], 1)
