"""An HTTP proxy that injects network faults.

`python -m tools.chaos.proxy CONFIG` runs the routes of a JSON file and writes its counters to
another file. The seed decides the fault of each request.
"""

import asyncio
import json
import random
import signal
import socket
import struct
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from tools.stack.http_messages import read_message, status

HOST = "127.0.0.1"
BACKLOG = 1024
KEEP_EVERY = 0.5  # seconds between writes of the counts
_ABORT_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER on, 0 s: the peer gets a RST


class Fault(StrEnum):
    LATENCY = "latency"  # forwarded a little later
    STALL = "stall"  # forwarded, but answered after the client's timeout
    RESET = "reset"  # reset before it is forwarded
    HALF_OPEN = "half_open"  # accepted, never forwarded or answered
    CUT_REQUEST = "cut_request"  # only its beginning is forwarded
    CUT_ANSWER = "cut_answer"  # forwarded; only the beginning of the answer returns
    DROP_ANSWER = "drop_answer"  # forwarded, then reset without an answer


@dataclass(frozen=True)
class Route:
    """One direction: the listening port, the upstream port, and the share of requests per fault."""

    name: str
    port: int
    upstream: int
    rates: Mapping[str, float]
    hold: float  # seconds that a stalled answer or a half-open request lasts
    latency: float  # seconds at most
    lag: float = 0.0  # seconds at most, before each request is forwarded


@dataclass
class Counts:
    requests: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    down: int = 0  # requests for which the upstream was down, or died


class Proxy:
    def __init__(self, line: Route, seed: str) -> None:
        self.line = line
        self.counts = Counts()
        self._random = random.Random(f"{seed}:{line.name}")  # noqa: S311 - reproducible
        self._server: asyncio.Server | None = None

    async def open(self) -> int:
        """Listens; returns the port, which the system chooses for port 0."""
        self._server = await asyncio.start_server(
            self._serve, HOST, self.line.port, backlog=BACKLOG, limit=2**22
        )
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def close(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while request := await read_message(reader):
                self.counts.requests += 1
                if not await self._pass_on(request, reader, writer):
                    break
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError):
            self.counts.down += 1
            _reset(writer)
        except asyncio.CancelledError:
            _reset(writer)
        finally:
            writer.close()

    async def _pass_on(
        self, request: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Returns whether the connection can be reused."""
        fault, share = self._draw(), self._random.random()
        if fault is not None:
            self.counts.faults[fault] += 1
        match fault:
            case Fault.RESET:
                _reset(writer)
                return False
            case Fault.HALF_OPEN:
                with suppress(TimeoutError):  # until the peer gives up
                    await asyncio.wait_for(reader.read(1), self.line.hold)
                return False
            case Fault.CUT_REQUEST:
                await self._ask(request[: 1 + int(share * (len(request) - 1))], is_whole=False)
                _reset(writer)
                return False
            case Fault.LATENCY:
                await asyncio.sleep(share * self.line.latency)
        if self.line.lag:
            await asyncio.sleep(self._random.random() * self.line.lag)
        return await self._give_back(await self._ask(request), writer, fault, share)

    async def _give_back(
        self, response: bytes, writer: asyncio.StreamWriter, fault: Fault | None, share: float
    ) -> bool:
        if fault is Fault.DROP_ANSWER:
            _reset(writer)
            return False
        if fault is Fault.STALL:
            await asyncio.sleep(self.line.hold)
        if fault is Fault.CUT_ANSWER:
            response = response[: 1 + int(share * (len(response) - 1))]
        writer.write(response)
        await writer.drain()
        return fault is not Fault.CUT_ANSWER

    def _draw(self) -> Fault | None:
        drawn = self._random.random()
        for name, rate in self.line.rates.items():
            drawn -= rate
            if drawn < 0:
                return Fault(name)
        return None

    async def _ask(self, request: bytes, *, is_whole: bool = True) -> bytes:
        """Forwards over a new connection, so that no request meets a stale one."""
        reader, writer = await asyncio.open_connection(HOST, self.line.upstream, limit=2**22)
        try:
            writer.write(request)
            await writer.drain()
            if not is_whole:
                return b""
            response = await read_message(reader)
        finally:
            writer.close()
        if not response:
            raise ConnectionResetError
        self.counts.statuses[status(response)] += 1
        return response


def _reset(writer: asyncio.StreamWriter) -> None:
    peer: socket.socket | None = writer.get_extra_info("socket")
    with suppress(OSError):
        if peer is not None:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _ABORT_ON_CLOSE)
    writer.transport.abort()


async def serve(config: Mapping[str, Any]) -> None:
    proxies = [Proxy(Route(**line), config["seed"]) for line in config["lines"]]
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    for proxy in proxies:
        await proxy.open()
    sys.stdout.write("proxy ready.\n")
    sys.stdout.flush()
    while not stopped.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(stopped.wait(), KEEP_EVERY)
        _keep(Path(config["counts"]), proxies)
    for proxy in proxies:
        proxy.close()


def _keep(path: Path, proxies: list[Proxy]) -> None:
    counts = {proxy.line.name: vars(proxy.counts) for proxy in proxies}
    new = path.with_suffix(".new")
    new.write_text(json.dumps(counts), encoding="utf-8")
    new.rename(path)


if __name__ == "__main__":
    asyncio.run(serve(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
