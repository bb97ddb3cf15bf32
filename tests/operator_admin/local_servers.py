"""Third-party servers on loopback: a mail server, a web site, a chain of proxies."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import requests


@contextmanager
def _serving(server: socketserver.BaseServer) -> Iterator[int]:
    server.block_on_close = False  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=[0.01])
    thread.start()
    try:
        address: Any = server.server_address
        yield int(address[1])
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _SmtpHandler(socketserver.StreamRequestHandler):
    """Accepts every connection and refuses every password."""

    def handle(self) -> None:
        self._say("220 here")
        for line in self.rfile:
            word = line.split()[0].upper()
            if word == b"EHLO":
                self._say("250-here\r\n250 AUTH PLAIN")
            elif word == b"AUTH":
                self._say("535 no")
            elif word == b"QUIT":
                return self._say("221 bye")
            else:
                self._say("250 ok")
        return None

    def _say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


@contextmanager
def smtp_server() -> Iterator[int]:
    """The port it listens on."""
    with _serving(socketserver.ThreadingTCPServer(("127.0.0.1", 0), _SmtpHandler)) as port:
        yield port


class _QuietHandler(BaseHTTPRequestHandler):
    def log_message(self, *_args: object) -> None:
        return

    def respond(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class _SiteHandler(_QuietHandler):
    def __init__(self, status: int, *args: object) -> None:
        self.status = status
        super().__init__(*args)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        self.respond(self.status, b'{"status": "ok"}')


class _ProxyHandler(_QuietHandler):
    """Adds the caller's address, as proxies do."""

    def __init__(self, upstream: str, *args: object) -> None:
        self.upstream = upstream
        super().__init__(*args)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        before = self.headers.get("X-Forwarded-For")
        forwarded_for = ", ".join(filter(None, [before, self.client_address[0]]))
        headers = dict(self.headers) | {"X-Forwarded-For": forwarded_for}
        response = requests.get(self.upstream + self.path, headers=headers, timeout=5)
        self.respond(response.status_code, response.content)


@contextmanager
def site(status: int) -> Iterator[str]:
    """A web site that is not ours."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_SiteHandler, status))
    with _serving(server) as port:
        yield f"http://127.0.0.1:{port}"


@contextmanager
def proxy(upstream: str, count: int) -> Iterator[str]:
    with ExitStack() as stack:
        for _ in range(count):
            server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_ProxyHandler, upstream))
            upstream = f"http://127.0.0.1:{stack.enter_context(_serving(server))}"
        yield upstream
