"""The load generator: a closed loop of keep-alive connections, by `wrk` or in Python."""

import json
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.bench.load import client
from tools.bench.load.client import Load
from tools.stack.programs import CannotMeasureError

PATIENCE = 20  # seconds for one answer
SCRIPT = Path(__file__).with_name("wrk.lua")
HINT = "No wrk here (apt-get install wrk), or not wanted: the built-in client, which is slower."


@dataclass
class RequestSource:
    """Requests made beforehand: heads (request line and headers) and, each with one, bodies."""

    heads: list[str]
    lines: list[tuple[int, str]]  # number of the head, body
    again: bool = False  # begin anew when they are used up, rather than fail
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


class Wrk:
    """`wrk -t1`: one thread, which leaves the most of the machine to what is measured."""

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
        done = subprocess.run(  # noqa: S603 - the client of our own choice
            [self._program, *options, *script, *files],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise CannotMeasureError(f"wrk failed: {' '.join(done.stderr.split())[-300:]}")
        return _said(done.stdout)


def _said(output: str) -> Load:
    found = [line for line in output.splitlines() if line.startswith("BENCH ")]
    if not found:
        raise CannotMeasureError(f"wrk said nothing of use: {output[-300:]}")
    return Load(**json.loads(found[-1].removeprefix("BENCH ")))


class PythonLoop:
    """Our own client: heavier than wrk, so that both sides look slower and closer."""

    name = "built-in client"

    def __init__(self) -> None:
        self._requests: list[bytes] = []
        self._again = False

    def prepare(self, feed: RequestSource) -> None:
        self._requests, self._again = list(feed.whole()), feed.again

    def run(self, port: int, connections: int, seconds: int) -> Load:
        return client.run(port, self._requests, connections, seconds, again=self._again)


Generator = Wrk | PythonLoop


def generator(place: Path, *, own: bool = False) -> Generator:
    program = shutil.which("wrk")
    return PythonLoop() if own or program is None else Wrk(program, place)
