"""The load: closed loops of keep-alive connections by `wrk`, or by a built-in client."""

import asyncio
import json
import shutil
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import orjson

from tools.bench.results import percentile
from tools.stack.http_messages import read_message, status
from tools.stack.stack import CannotMeasureError

TIMEOUT = 20  # seconds for one answer
SCRIPT = Path(__file__).with_name("wrk.lua")
HINT = "No wrk here (apt-get install wrk): the built-in client, which is slower."


@dataclass(frozen=True, slots=True)
class Load:
    """The results of a closed loop. Times in milliseconds."""

    requests: int
    seconds: float
    p50: float
    p99: float
    refused: int  # statuses of 400 and more
    broken: int  # failed connections and missing answers
    starved: int = 0  # requests sent a second time for lack of new ones

    @property
    def rate(self) -> float:
        return self.requests / self.seconds

    @property
    def accepted(self) -> int:
        return self.requests - self.refused


class Loop:
    """Each connection sends its next request as soon as it has its answer, or after a pause."""

    def __init__(
        self, port: int, requests: Sequence[bytes], *, again: bool = False, pause: float = 0.0
    ) -> None:
        self._port, self._requests, self._again = port, requests, again
        self._pause, self._place = pause, 0
        self.starved = self.broken = 0
        self.statuses: list[int] = []
        self.times: list[float] = []  # seconds

    @property
    def refused(self) -> int:
        return sum(status >= 400 for status in self.statuses)

    def run(self, connections: int, seconds: float = inf) -> Load:
        """Runs for these seconds, or until each request has been answered once."""
        elapsed = asyncio.run(self._run(connections, seconds))
        milliseconds = [s * 1000 for s in self.times] or [0.0]
        p50, p99 = percentile(milliseconds, 0.5), percentile(milliseconds, 0.99)
        counts = (self.refused, self.broken, self.starved)
        return Load(len(self.times), elapsed, p50, p99, *counts)

    async def _run(self, connections: int, seconds: float) -> float:
        self._is_timed = seconds < inf
        opened = [await self._open() for _ in range(connections)]
        started = time.perf_counter()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds if self._is_timed else None):
                await asyncio.gather(*(self._serve(*streams) for streams in opened))
        return time.perf_counter() - started

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self._port)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while request := self._next():
                sent_at = time.perf_counter()
                writer.write(request)
                response = await _answer(reader)
                if response:
                    self.times.append(time.perf_counter() - sent_at)
                    self.statuses.append(status(response))
                    await asyncio.sleep(self._pause)
                else:
                    self.broken += 1
                    writer.close()
                    reader, writer = await self._open()
        finally:
            writer.close()

    def _next(self) -> bytes | None:
        if self._place == len(self._requests):
            if not self._is_timed:
                return None
            self._place = 0
            self.starved += not self._again
        self._place += 1
        return self._requests[self._place - 1]


async def _answer(reader: asyncio.StreamReader) -> bytes:
    """The answer; empty if the connection broke."""
    try:
        return await read_message(reader)
    except (OSError, EOFError):
        return b""


def answered(port: int, requests: Sequence[bytes], connections: int) -> list[float]:
    """Sends each request once; returns the seconds until each was answered."""
    loop = Loop(port, requests)
    loop.run(connections)
    if loop.broken:
        raise ConnectionError(f"{loop.broken} connections broke")
    if loop.refused:
        raise CannotMeasureError(f"{loop.refused} of {len(requests)} calls were refused")
    return loop.times


class Burst:
    """Requests sent at once, each on its own connection; a thread reads the answers."""

    def __init__(self, port: int, requests: Sequence[bytes]) -> None:
        self._loop = Loop(port, requests)
        self.statuses = self._loop.statuses
        run = partial(self._loop.run, len(requests))
        self._thread = threading.Thread(target=run, name="burst", daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> int:
        """Waits for all answers, at most this long; returns their number."""
        self._thread.join(seconds)
        return len(self.statuses)


@dataclass
class RequestSource:
    """Requests prepared beforehand: heads (request line and headers), and bodies, each with the
    number of its head.
    """

    heads: list[str]
    lines: list[tuple[int, str]]  # number of the head, body
    again: bool = False  # start over when they are used up, instead of failing
    mark: dict[str, Any] = field(default_factory=dict)  # data with which the row checks answers
    notes: dict[str, float] = field(default_factory=dict)  # figures found by these checks

    def whole(self) -> list[bytes]:
        return [whole(self.heads[number], body) for number, body in self.lines]


def whole(head: str, body: str) -> bytes:
    length = f"Content-Length: {len(body.encode())}\r\n" if body else ""
    return f"{head}{length}\r\n{body}".encode()


def head(method: str, path: str, port: int, **headers: str) -> str:
    all_headers = {"Host": f"127.0.0.1:{port}"} | {
        k.replace("_", "-"): v for k, v in headers.items()
    }
    lines = [
        f"{method} {path} HTTP/1.1",
        *(f"{name}: {value}" for name, value in all_headers.items()),
    ]
    return "".join(f"{line}\r\n" for line in lines)


def post(path: str, port: int, key: str) -> str:
    """The head of a call of the API; floors get the same one, so that they parse as much."""
    return head("POST", path, port, Authorization=f"Bearer {key}", Content_Type="application/json")


def as_json(**fields: object) -> str:
    return orjson.dumps(fields).decode()


def call(path: str, port: int, key: str, **fields: object) -> bytes:
    """A whole call of the API."""
    return whole(post(f"/api/v1/{path}", port, key), as_json(**fields))


class Wrk:
    """`wrk -t1`: one thread, which leaves most of the machine to the measured side."""

    name = "wrk"

    def __init__(self, program: str, directory: Path) -> None:
        self._program = program
        self._heads, self._lines = directory / "heads", directory / "lines"
        self._again = False

    def prepare(self, feed: RequestSource) -> None:
        heads = (head.replace("\r\n", "|") for head in feed.heads)
        self._heads.write_text("".join(f"{head}\n" for head in heads), encoding="utf-8")
        lines = (f"{number} {body}\n" for number, body in feed.lines)
        self._lines.write_text("".join(lines), encoding="utf-8")
        self._again = feed.again

    def run(self, port: int, connections: int, seconds: int) -> Load:
        options = ["-t1", f"-c{connections}", f"-d{seconds}s", f"--timeout={TIMEOUT}s"]
        script = [f"--script={SCRIPT}", f"http://127.0.0.1:{port}/", "--"]
        files = [self._heads, self._lines, "again" if self._again else "once"]
        command = [self._program, *options, *script, *files]
        process = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if process.returncode != 0:
            raise CannotMeasureError(f"wrk failed: {' '.join(process.stderr.split())[-300:]}")
        lines = [line for line in process.stdout.splitlines() if line.startswith("BENCH ")]
        if not lines:
            raise CannotMeasureError(f"wrk printed no result: {process.stdout[-300:]}")
        return Load(**json.loads(lines[-1].removeprefix("BENCH ")))


class PythonLoop:
    """The built-in client: it needs more CPU than wrk, so both sides look slower and more alike."""

    name = "built-in client"

    def __init__(self) -> None:
        self._requests: list[bytes] = []
        self._again = False

    def prepare(self, feed: RequestSource) -> None:
        self._requests, self._again = feed.whole(), feed.again

    def run(self, port: int, connections: int, seconds: int) -> Load:
        return Loop(port, self._requests, again=self._again).run(connections, seconds)


Generator = Wrk | PythonLoop


def generator(directory: Path) -> Generator:
    program = shutil.which("wrk")
    return Wrk(program, directory) if program else PythonLoop()
