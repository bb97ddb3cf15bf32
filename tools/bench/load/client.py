"""A small HTTP/1.1 client on plain sockets: for one request at a time, for many that must not be
read yet, and as the closed loop where there is no wrk.
"""

import json
import re
import selectors
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tools.bench.report.results import percentile

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)
_LAST_CHUNK = b"\r\n0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Load:
    """What a closed loop saw. Times in milliseconds."""

    requests: int
    seconds: float
    p50: float
    p99: float
    refused: int  # statuses of 400 and more
    broken: int  # connections that failed, answers that did not come
    starved: int = 0  # requests that were sent a second time, for want of new ones

    @property
    def rate(self) -> float:
        return self.requests / self.seconds

    @property
    def accepted(self) -> int:
        return self.requests - self.refused


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes

    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found


class Connection:
    """One keep-alive connection with at most one request under way."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._heard = b""
        self.sent_at = 0.0

    def send(self, request: bytes) -> None:
        self._heard = b""
        self.sent_at = time.perf_counter()
        self.socket.sendall(request)

    def hear(self) -> Answer | None:
        """Reads what is there; the answer once it is whole."""
        heard = self.socket.recv(65_536)
        if not heard:
            raise ConnectionError("closed before the answer was whole")
        self._heard += heard
        head, blank, rest = self._heard.partition(b"\r\n\r\n")
        body = _body(head, rest) if blank else None
        return None if body is None else Answer(int(head[9:12]), body)

    def seconds(self) -> float:
        """Since the request was sent."""
        return time.perf_counter() - self.sent_at

    def ask(self, request: bytes) -> Answer:
        self.send(request)
        while (answer := self.hear()) is None:
            pass
        return answer

    def close(self) -> None:
        self.socket.close()


def _body(head: bytes, rest: bytes) -> bytes | None:
    """None while some of it is still to come."""
    if length := _LENGTH.search(head):
        return rest if len(rest) >= int(length[1]) else None
    if _CHUNKED.search(head) and rest.endswith(_LAST_CHUNK):
        return b"".join(_chunks(rest))
    return None


def _chunks(rest: bytes) -> Iterator[bytes]:
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        yield rest[:length]
        rest = rest[length + 2 :]


def ask(port: int, request: bytes) -> Answer:
    connection = Connection(port)
    try:
        return connection.ask(request)
    finally:
        connection.close()


class Loop:
    """Each connection sends its next request as soon as it has its answer."""

    def __init__(self, port: int, requests: Sequence[bytes], *, again: bool) -> None:
        self._port, self._requests, self._again = port, requests, again
        self._place = self.starved = self.refused = self.broken = 0
        self.times: list[float] = []

    def run(self, connections: int, seconds: float) -> Load:
        with selectors.DefaultSelector() as selector:
            opened = [self._open(selector) for _ in range(connections)]
            started = time.perf_counter()
            for connection in opened:
                connection.send(self._next())
            while time.perf_counter() - started < seconds:
                for key, _event in selector.select(timeout=0.1):
                    self._serve(selector, key.data)
            elapsed = time.perf_counter() - started
            for key in list(selector.get_map().values()):
                key.data.close()
        milliseconds = [one * 1000 for one in self.times] or [0.0]
        return Load(
            requests=len(self.times),
            seconds=elapsed,
            p50=percentile(milliseconds, 0.5),
            p99=percentile(milliseconds, 0.99),
            refused=self.refused,
            broken=self.broken,
            starved=self.starved,
        )

    def _open(self, selector: selectors.BaseSelector) -> Connection:
        connection = Connection(self._port)
        selector.register(connection.socket, selectors.EVENT_READ, connection)
        return connection

    def _next(self) -> bytes:
        if self._place == len(self._requests):
            self._place = 0
            self.starved += not self._again
        self._place += 1
        return self._requests[self._place - 1]

    def _serve(self, selector: selectors.BaseSelector, connection: Connection) -> None:
        try:
            answer = connection.hear()
        except OSError:
            self.broken += 1
            selector.unregister(connection.socket)
            connection.close()
            self._open(selector).send(self._next())
            return
        if answer is not None:
            self.times.append(time.perf_counter() - connection.sent_at)
            self.refused += answer.status >= 400
            connection.send(self._next())


def run(
    port: int, requests: Sequence[bytes], connections: int, seconds: float, *, again: bool
) -> Load:
    return Loop(port, requests, again=again).run(connections, seconds)
