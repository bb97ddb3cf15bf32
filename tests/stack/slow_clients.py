"""Clients that start requests and never finish them, from many addresses."""

import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from itertools import cycle, islice
from types import TracebackType
from urllib.parse import urlsplit

DRIP = 0.4  # seconds between bytes
KINDS = ("part of the headers", "headers", "half of the body", "chunks")


class SlowClient:
    """One connection, reopened whenever the server closes it."""

    def __init__(self, server: tuple[str, int], address: str, kind: str, headers: str) -> None:
        self._server = server
        self._address = address
        self._drips = kind == "chunks"
        self._said = _beginning(kind, headers)
        self._open()

    def send_more(self) -> None:
        """Sends one more byte, or reconnects."""
        try:
            if self._drips:
                self._socket.send(b"1\r\nx\r\n")
            if self._socket.recv(4096) is not None:  # an answer, or the end
                self.close()
                self._open()
        except BlockingIOError:
            return
        except OSError:
            self.close()
            self._open()

    def close(self) -> None:
        self._socket.close()

    def _open(self) -> None:
        self._socket = socket.create_connection(
            self._server, timeout=10, source_address=(self._address, 0)
        )
        self._socket.sendall(self._said)
        self._socket.setblocking(False)


class SlowClients:
    """Runs slow clients inside the block: every kind at every target in turn."""

    def __init__(self, url: str, targets: Sequence[str], count: int) -> None:
        address = urlsplit(url)
        server = (str(address.hostname), int(address.port or 0))
        plans = islice(cycle((kind, target) for target in targets for kind in KINDS), count)
        self._plans = [
            (server, f"127.0.{1 + number // 100}.{1 + number % 100}", kind, target)
            for number, (kind, target) in enumerate(plans)
        ]
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep_sending, daemon=True)
        self.clients: list[SlowClient] = []

    def __enter__(self) -> "SlowClients":
        self.clients = [SlowClient(*plan) for plan in self._plans]
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()
        for client in self.clients:
            client.close()

    def _keep_sending(self) -> None:
        while not self._over.wait(DRIP):
            for client in self.clients:
                with suppress(OSError):
                    client.send_more()


def request(method: str, path: str, host: str, *headers: str) -> str:
    return "".join(
        f"{line}\r\n" for line in (f"{method} {path} HTTP/1.1", f"Host: {host}", *headers)
    )


def _beginning(kind: str, headers: str) -> bytes:
    more = {
        "part of the headers": "Content-Le",
        "headers": "Content-Length: 500\r\n\r\n",
        "half of the body": f"Content-Length: 500\r\n\r\n{'x' * 250}",
        "chunks": "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n",
    }
    return (headers + more[kind]).encode()
