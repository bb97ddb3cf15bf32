"""A small HTTP server that answers in ClickHouse's words, for machines that have none."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Fake:
    status: int = 200
    response: str = ""
    port: int = 0
    requests: list[tuple[str, str, bytes]] = field(default_factory=list)  # path, authorization


@contextmanager
def fake_clickhouse() -> Iterator[Fake]:
    fake = Fake()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            fake.requests.append((self.path, self.headers["Authorization"], body))
            self.send_response(fake.status)
            self.end_headers()
            self.wfile.write(fake.response.encode())

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    fake.port = server.server_port
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
