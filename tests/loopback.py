"""Servers on loopback that treat each connection as a test says."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread

Handler = Callable[[socket.socket], None]


@contextmanager
def server(handle: Handler, *, in_parallel: bool = False) -> Iterator[int]:
    """Yields its port; one connection after another, unless each has its own thread."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve_one(connection: socket.socket) -> None:
            with connection, suppress(OSError):  # the caller has left
                handle(connection)

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                if in_parallel:
                    Thread(target=serve_one, args=[connection], daemon=True).start()
                else:
                    serve_one(connection)

        thread = Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
    thread.join(2)


def read_to_end(connection: socket.socket) -> None:
    """Reads without an answer, however long the caller waits."""
    while connection.recv(65536):
        pass


def read_request(connection: socket.socket) -> bytes:
    """Reads a whole request: a client may send its head and its body in two packets."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += (chunk := connection.recv(65536))
        if not chunk:
            return data
    head, _, body = data.partition(b"\r\n\r\n")
    _, _, length = head.lower().partition(b"content-length: ")
    size = int(length.split(b"\r\n")[0] or 0)
    while len(body) < size:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body
