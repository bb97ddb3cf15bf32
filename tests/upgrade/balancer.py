"""A balancer in front of the web processes while one generation replaces the other."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from tests.ports import free_port
from tests.stack.programs import wait_until
from tools.stack.http_messages import read_message

HOST = "127.0.0.1"


class Balancer:
    """Sends each request to the next of its backends; a backend that is taken out gets no more."""

    def __init__(self) -> None:
        self.url = f"http://{HOST}:{free_port()}"
        self._backends: Sequence[int] = ()
        self._served = 0
        self._in_flight: Counter[int] = Counter()

    def use(self, *urls: str) -> None:
        """Have these serve from now on; returns once the others have answered what they got."""
        self._backends = [_port(url) for url in urls]
        wait_until(lambda: not self._in_flight.keys() - self._backends, 20)

    @contextmanager
    def running(self) -> Iterator[None]:
        ready: Future[Callable[[], object]] = Future()
        with ThreadPoolExecutor(1) as thread:
            ended = thread.submit(asyncio.run, self._run(ready))
            stop = ready.result(10)
            try:
                yield
            finally:
                stop()
                ended.result(20)

    async def _run(self, ready: "Future[Callable[[], object]]") -> None:
        stopped = asyncio.Event()
        loop = asyncio.get_running_loop()
        server = await asyncio.start_server(self._serve, HOST, _port(self.url), limit=2**22)
        ready.set_result(lambda: loop.call_soon_threadsafe(stopped.set))
        await stopped.wait()
        server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while request := await read_message(reader):
                writer.write(await self._answer(request))
                await writer.drain()
        except (OSError, EOFError):
            return  # the client sees a broken connection
        finally:
            writer.close()

    async def _answer(self, request: bytes) -> bytes:
        self._served += 1
        backend = self._backends[self._served % len(self._backends)]
        self._in_flight[backend] += 1
        try:
            return await _ask(backend, request)
        finally:
            self._in_flight[backend] -= 1
            self._in_flight = +self._in_flight


async def _ask(backend: int, request: bytes) -> bytes:
    """Over its own connection, so that no request meets one that is just closed."""
    reader, writer = await asyncio.open_connection(HOST, backend, limit=2**22)
    try:
        writer.write(request)
        await writer.drain()
        return await read_message(reader)
    finally:
        writer.close()


def _port(url: str) -> int:
    return int(url.rpartition(":")[2])
