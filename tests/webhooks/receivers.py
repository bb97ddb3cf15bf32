"""A customer's webhook receiver that records calls and answers as configured."""

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson
from standardwebhooks import Webhook

from tests.loopback import Handler, server


@dataclass(frozen=True)
class Call:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def json(self) -> dict[str, Any]:
        body: dict[str, Any] = orjson.loads(self.body)
        return body

    def verified(self, secret: str) -> dict[str, Any]:
        """The body, verified by the reference library; raises if the signature is wrong."""
        body: dict[str, Any] = Webhook(secret).verify(self.body, self.headers)
        return body


@dataclass
class Receiver:
    """A receiver; `status`, `answer` and `delay` determine its next response."""

    status: int = 200
    response: bytes = b"ok"
    delay: float = 0.0
    headers: dict[str, str] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    url: str = ""

    def wait(self, calls: int = 1, seconds: float = 25.0) -> list[Call]:
        deadline = time.monotonic() + seconds
        while len(self.calls) < calls:
            assert time.monotonic() < deadline, f"{len(self.calls)} calls of {calls} came"
            time.sleep(0.01)
        return self.calls


@contextmanager
def listening(context: ssl.SSLContext | None = None, port: int = 0) -> Iterator[Receiver]:
    receiver = Receiver()
    server = ThreadingHTTPServer(("127.0.0.1", port), _handler(receiver))
    server.daemon_threads = True
    server.handle_error = lambda *_arguments: None  # type: ignore[method-assign]
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    scheme = "https" if context else "http"
    receiver.url = f"{scheme}://127.0.0.1:{server.server_address[1]}/hook"
    thread = threading.Thread(target=server.serve_forever, args=[0.02], daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def _handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): text for name, text in self.headers.items()}
            receiver.calls.append(Call(self.path, headers, body))
            status = receiver.status
            response = receiver.response
            time.sleep(receiver.delay)
            self.send_response(status)
            for name, text in receiver.headers.items():
                self.send_header(name, text)
            self.send_header("Content-Length", str(len(response)))
            self.end_headers()
            self.wfile.write(response)

        def log_message(self, *_arguments: object) -> None:
            """Drops the log lines."""

    return Handler


@contextmanager
def peer(behave: Handler) -> Iterator[str]:
    """The address of a server that passes each connection to a function of the test."""
    with server(behave, in_parallel=True) as port:
        yield f"http://127.0.0.1:{port}/hook"


def sends_nothing(sock: socket.socket) -> None:
    time.sleep(30)


def sends_slowly(sock: socket.socket) -> None:
    """Sends a header byte by byte, without end."""
    sock.recv(65536)
    sock.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while True:
        sock.sendall(b"a")
        time.sleep(0.1)


def resets(sock: socket.socket) -> None:
    sock.recv(65536)


def breaks_protocol(sock: socket.socket) -> None:
    sock.recv(65536)
    sock.sendall(b"SSH-2.0-OpenSSH\r\n")
    sock.shutdown(socket.SHUT_WR)
    while sock.recv(65536):  # closed with something unread, it would reset the connection
        pass
