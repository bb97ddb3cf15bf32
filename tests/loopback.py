"""Servers on loopback that treat each connection as a test says."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread

Handler = Callable[[socket.socket], None]


@contextmanager
def server(handle: Handler, *, in_parallel: bool = False) -> Iterator[int]:
    """Yields its port; one connection after another, unless each has a thread of its own."""
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
    """Says nothing, however long the caller waits."""
    while connection.recv(65536):
        pass
