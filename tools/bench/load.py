"""The load: a small HTTP/1.1 client on plain sockets, and closed loops of keep-alive connections by
`wrk`, or by that client.
"""

import json
import re
import selectors
import shutil
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

import orjson

from tools.bench.results import percentile
from tools.stack.stack import CannotMeasureError

PATIENCE = 20  # seconds for one answer
SCRIPT = Path(__file__).with_name("wrk.lua")
HINT = "No wrk here (apt-get install wrk): the built-in client, which is slower."
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
        body: dict[str, Any] = json.loads(self.body)
        return body


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

    def __init__(self, port: int, requests: Sequence[bytes], *, again: bool = False) -> None:
        self._port, self._requests, self._again = port, requests, again
        self._place = self.starved = self.refused = self.broken = 0
        self.times: list[float] = []  # seconds

    def run(self, connections: int, seconds: float = inf) -> Load:
        """For this time; without one, until each request has been answered once."""
        self._is_timed = seconds < inf
        with selectors.DefaultSelector() as selector:
            opened = [self._open(selector) for _ in range(connections)]
            started = time.perf_counter()
            for connection in opened:
                self._send(selector, connection)
            while selector.get_map() and time.perf_counter() - started < seconds:
                for key, _event in selector.select(timeout=0.1):
                    self._serve(selector, key.data)
            elapsed = time.perf_counter() - started
            for key in list(selector.get_map().values()):
                key.data.close()
        milliseconds = [s * 1000 for s in self.times] or [0.0]
        p50, p99 = percentile(milliseconds, 0.5), percentile(milliseconds, 0.99)
        counts = (self.refused, self.broken, self.starved)
        return Load(len(self.times), elapsed, p50, p99, *counts)

    def _open(self, selector: selectors.BaseSelector) -> Connection:
        connection = Connection(self._port)
        selector.register(connection.socket, selectors.EVENT_READ, connection)
        return connection

    def _send(self, selector: selectors.BaseSelector, connection: Connection) -> None:
        if self._place == len(self._requests):
            if not self._is_timed:
                return self._close(selector, connection)
            self._place = 0
            self.starved += not self._again
        self._place += 1
        return connection.send(self._requests[self._place - 1])

    def _close(self, selector: selectors.BaseSelector, connection: Connection) -> None:
        selector.unregister(connection.socket)
        connection.close()

    def _serve(self, selector: selectors.BaseSelector, connection: Connection) -> None:
        try:
            answer = connection.hear()
        except OSError:
            self.broken += 1
            self._close(selector, connection)
            self._send(selector, self._open(selector))
            return
        if answer is not None:
            self.times.append(connection.seconds())
            self.refused += answer.status >= 400
            self._send(selector, connection)


def answered(port: int, requests: Sequence[bytes], connections: int) -> list[float]:
    """Sends each request once; the seconds until each was answered."""
    loop = Loop(port, requests)
    loop.run(connections)
    if loop.broken:
        raise ConnectionError(f"{loop.broken} connections broke")
    if loop.refused:
        raise CannotMeasureError(f"{loop.refused} of {len(requests)} calls were refused")
    return loop.times


class Burst:
    """All sent at once, each over a connection of its own; answers are read when they come."""

    def __init__(self, port: int, requests: Iterable[bytes]) -> None:
        self.statuses: list[int] = []
        self._selector = selectors.DefaultSelector()
        for request in requests:
            connection = Connection(port)
            self._selector.register(connection.socket, selectors.EVENT_READ, connection)
            connection.send(request)

    def answered(self, seconds: float) -> int:
        """Reads what comes within this time; how many answers that were."""
        deadline, before = time.monotonic() + seconds, len(self.statuses)
        while self._selector.get_map() and (left := deadline - time.monotonic()) > 0:
            for key, _event in self._selector.select(timeout=left):
                answer = key.data.hear()
                if answer is not None:
                    self.statuses.append(answer.status)
                    self._selector.unregister(key.fileobj)
                    key.data.close()
        return len(self.statuses) - before

    def close(self) -> None:
        for key in list(self._selector.get_map().values()):
            key.data.close()
        self._selector.close()


@dataclass
class RequestSource:
    """Requests made beforehand: heads (request line and headers) and, each with one, bodies."""

    heads: list[str]
    lines: list[tuple[int, str]]  # number of the head, body
    again: bool = False  # start over when they are used up, rather than fail
    mark: dict[str, Any] = field(default_factory=dict)  # what the row needs to check the answers
    notes: dict[str, float] = field(default_factory=dict)  # what it found in doing so

    def whole(self) -> Iterable[bytes]:
        for number, body in self.lines:
            yield whole(self.heads[number], body)


def whole(head: str, body: str) -> bytes:
    length = f"Content-Length: {len(body.encode())}\r\n" if body else ""
    return f"{head}{length}\r\n{body}".encode()


def head(method: str, path: str, port: int, **headers: str) -> str:
    named = {"Host": f"127.0.0.1:{port}"} | {k.replace("_", "-"): v for k, v in headers.items()}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in named.items())]
    return "".join(f"{line}\r\n" for line in lines)


def post(path: str, port: int, key: str) -> str:
    """The head of a call of the API; floors get the same one, to have as much to read."""
    return head("POST", path, port, Authorization=f"Bearer {key}", Content_Type="application/json")


def as_json(**fields: object) -> str:
    return orjson.dumps(fields).decode()


def call(path: str, port: int, key: str, **fields: object) -> bytes:
    """A whole call of the API."""
    return whole(post(f"/api/v1/{path}", port, key), as_json(**fields))


class Wrk:
    """`wrk -t1`: one thread, which leaves most of the machine to the measured side."""

    name = "wrk"

    def __init__(self, program: str, place: Path) -> None:
        self._program = program
        self._heads, self._lines = place / "heads", place / "lines"
        self._again = False

    def prepare(self, feed: RequestSource) -> None:
        heads = (head.replace("\r\n", "|") for head in feed.heads)
        self._heads.write_text("".join(f"{head}\n" for head in heads), encoding="utf-8")
        lines = (f"{number} {body}\n" for number, body in feed.lines)
        self._lines.write_text("".join(lines), encoding="utf-8")
        self._again = feed.again

    def run(self, port: int, connections: int, seconds: int) -> Load:
        options = ["-t1", f"-c{connections}", f"-d{seconds}s", f"--timeout={PATIENCE}s"]
        script = [f"--script={SCRIPT}", f"http://127.0.0.1:{port}/", "--"]
        files = [self._heads, self._lines, "again" if self._again else "once"]
        command = [self._program, *options, *script, *files]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode != 0:
            raise CannotMeasureError(f"wrk failed: {' '.join(done.stderr.split())[-300:]}")
        lines = [line for line in done.stdout.splitlines() if line.startswith("BENCH ")]
        if not lines:
            raise CannotMeasureError(f"wrk said nothing of use: {done.stdout[-300:]}")
        return Load(**json.loads(lines[-1].removeprefix("BENCH ")))


class PythonLoop:
    """Our own client: heavier than wrk, so that both sides look slower and closer."""

    name = "built-in client"

    def __init__(self) -> None:
        self._requests: list[bytes] = []
        self._again = False

    def prepare(self, feed: RequestSource) -> None:
        self._requests, self._again = list(feed.whole()), feed.again

    def run(self, port: int, connections: int, seconds: int) -> Load:
        return Loop(port, self._requests, again=self._again).run(connections, seconds)


Generator = Wrk | PythonLoop


def generator(place: Path) -> Generator:
    program = shutil.which("wrk")
    return Wrk(program, place) if program else PythonLoop()
