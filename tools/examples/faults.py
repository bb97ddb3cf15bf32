"""A proxy with network faults in front of the service: a hang, a 502, an outage, recovery."""

import http.client
import select
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

HANG_SECONDS = 20.0  # seconds, longer than an example waits
RETRY_AFTER = 3  # seconds: none of the pauses that the examples would choose themselves
_HOP_BY_HOP = {"connection", "content-length", "host", "http2-settings", "transfer-encoding",
               "upgrade"}  # fmt: skip


class BadNetwork(ThreadingHTTPServer):
    """Each request meets the next fault; what was asked is kept."""

    daemon_threads = True

    def __init__(self, upstream: str, *, is_down: bool = False) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.is_down = is_down  # a proxy answers for it, whatever is asked
        self.upstream = urlsplit(upstream)
        self.keys: list[str | None] = []  # the Idempotency-Key of each request
        self.replayed = False  # the last answer was that of an earlier request
        self.hung_up = False  # the client did not wait for the end of the silence

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}{self.upstream.path}"


@contextmanager
def bad_network(upstream: str, *, is_down: bool = False) -> Iterator[BadNetwork]:
    server = BadNetwork(upstream, is_down=is_down)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: BadNetwork

    def do_POST(self) -> None:
        body = self._body()
        self.server.keys.append(self.headers.get("Idempotency-Key"))
        if self.server.is_down:
            self._answer(502, [*_HTML, ("Retry-After", "1")], _BAD_GATEWAY)
            self.close_connection = True
            return
        match len(self.server.keys):
            case 1:
                self._forward(body)
                self._keep_silent()
            case 2:
                self._forward(body)
                self._answer(502, _HTML, _BAD_GATEWAY)
            case 3:
                self._answer(503, [*_JSON, ("Retry-After", str(RETRY_AFTER))], _UNAVAILABLE)
            case _:
                answer, content = self._forward(body)
                self.server.replayed = answer.headers.get("Idempotent-Replayed") == "true"
                headers = [
                    (name, value)
                    for name, value in answer.getheaders()
                    if name.lower() not in _HOP_BY_HOP
                ]
                self._answer(answer.status, headers, content)
        self.close_connection = True

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        chunks = []
        while size := int(self.rfile.readline(), 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    def _forward(self, body: bytes) -> tuple[http.client.HTTPResponse, bytes]:
        upstream = self.server.upstream
        kind = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
        connection = kind[upstream.scheme](
            str(upstream.hostname), upstream.port, timeout=HANG_SECONDS
        )
        headers = {
            name: value for name, value in self.headers.items() if name.lower() not in _HOP_BY_HOP
        }
        try:
            connection.request("POST", self.path, body, headers)
            answer = connection.getresponse()
            return answer, answer.read()
        finally:
            connection.close()

    def _keep_silent(self) -> None:
        readable, _, _ = select.select([self.connection], [], [], HANG_SECONDS)
        self.server.hung_up = bool(readable)

    def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.send_response_only(status)
        for name, value in [*headers, ("Content-Length", str(len(body)))]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *_arguments: object) -> None:  # noqa: A002 - as inherited
        pass


_JSON = [("Content-Type", "application/json")]
_HTML = [("Content-Type", "text/html")]
_BAD_GATEWAY = b"<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
_UNAVAILABLE = b'{"success": false, "code": "unavailable", "message": "-", "request_id": "-"}'
