"""The service that the examples talk to, our own or a running one, and a bad network before it."""

import json
import os
import re
import select
import signal
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests

from config.local.processes import StartError
from tests.stack.programs import Program
from tools.stack.stack import free_ports, kept_environ

_STARTED = "Ctrl-C stops everything"


@dataclass(frozen=True)
class Service:
    """An API and a test key for it."""

    url: str  # https://HOST/api/v1
    key: str

    def messages(self, phone: str) -> list[dict[str, Any]]:
        """What the phone would have shown, the newest first."""
        answer = requests.get(
            f"{self.url}/test/messages",
            params={"phone": phone},
            headers={"Authorization": f"Bearer {self.key}"},
            timeout=10,
        )
        answer.raise_for_status()
        rows: list[dict[str, Any]] = answer.json()["data"]
        return rows


@contextmanager
def running() -> Iterator[Service]:
    """The service of KVITOK_URL and KVITOK_KEY, or else a `make run` for the time being."""
    url, key = os.environ.get("KVITOK_URL"), os.environ.get("KVITOK_KEY")
    if url and key:
        if not re.match("kv_test_", key):
            raise StartError("KVITOK_KEY must be a test key: what it sends is read back")
        yield Service(url.rstrip("/"), key)
        return
    with tempfile.TemporaryDirectory(prefix="kvitok-examples-") as place:
        supervisor = _supervisor(Path(place))
        try:
            supervisor.start()
            demo = json.loads((Path(place) / "demo.json").read_text(encoding="utf-8"))
            yield Service(demo["base_url"], demo["test_key"])
        finally:
            supervisor.terminate()
            supervisor.wait_stopped(30)


def _supervisor(place: Path) -> Program:
    port, simulator_port = map(str, free_ports(2))
    ours = {"VAR_DIR": str(place), "PORT": port, "SIMULATOR_PORT": simulator_port}
    environ = kept_environ() | ours | {"SIMULATOR_RECEIPT_DELAY_MS": "0"}
    log, command = place / "supervisor.log", ["-m", "config.local.supervisor"]
    program = Program(command, log=log, environ=environ, words=_STARTED)
    program.die, program.patience = signal.SIGTERM, 120.0
    return program


HANG_SECONDS = 20.0  # seconds, longer than an example waits
RETRY_AFTER = 3  # seconds: none of the pauses that the examples would choose themselves
_HOP_BY_HOP = {"connection", "content-length", "host", "http2-settings", "transfer-encoding",
               "upgrade", "content-encoding"}  # fmt: skip  # the body is decoded here


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
                answer = self._forward(body)
                self.server.replayed = answer.headers.get("Idempotent-Replayed") == "true"
                headers = _end_to_end(answer.headers.items())
                self._answer(answer.status_code, headers, answer.content)
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

    def _forward(self, body: bytes) -> requests.Response:
        url = self.server.upstream._replace(path=self.path).geturl()
        headers = _end_to_end(self.headers.items())
        return requests.post(url, data=body, headers=dict(headers), timeout=HANG_SECONDS)

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


def _end_to_end(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(name, value) for name, value in headers if name.lower() not in _HOP_BY_HOP]


_JSON = [("Content-Type", "application/json")]
_HTML = [("Content-Type", "text/html")]
_BAD_GATEWAY = b"<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
_UNAVAILABLE = b'{"success": false, "code": "unavailable", "message": "-", "request_id": "-"}'
