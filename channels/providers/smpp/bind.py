"""Keeps one transceiver bind to a message centre and reconnects whenever it breaks."""

import asyncio
import logging
import random
import ssl
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any, TypeVar

from channels.providers.smpp import command_status
from channels.providers.smpp.pdu import Pdu
from channels.providers.smpp.receipt_queue import ReceiptQueue
from channels.providers.smpp.session import LostError, OnDeliver, Session

T = TypeVar("T")

# Seconds between two attempts to bind, with full jitter.
MIN_BACKOFF = 0.5
MAX_BACKOFF = 60.0
STABLE_AFTER = 10.0  # seconds of a bind after which the backoff is reset
UNBIND_TIMEOUT = 2.0  # seconds to drain the receipts, then once more for the response to unbind
VERSION = 0x34
_MAX_LENGTHS = {"system_id": 15, "password": 8, "system_type": 12}

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Peer:
    """The addresses of a message centre, and the credentials for it.

    `host` may list several hosts, each with an optional port: `a.example,b.example:2776`. The next
    one is tried when a bind fails or breaks.
    """

    host: str
    port: int
    tls: bool
    system_id: str
    password: str = field(repr=False)
    system_type: str
    ca_file: str = ""  # certificates to trust instead of the system's

    def __post_init__(self) -> None:
        """Rejects values that would be silently truncated in the PDU."""
        for name, longest in _MAX_LENGTHS.items():
            value = getattr(self, name)
            if len(value) > longest or not value.isascii():
                raise ValueError(f"SMPP_URL: {name} must be ASCII, {longest} octets at most")
        if not all(host and 0 < port < 65_536 for host, port in self.addresses):
            raise ValueError("SMPP_URL: each host is a name, or a name and a port: a.example:2776")

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """The hosts with their ports; raises ValueError for a port that is not a number."""
        pairs = (pair.strip().rpartition(":") for pair in self.host.split(","))
        return [(host or port, int(port) if host else self.port) for host, _, port in pairs]

    def tls_context(self) -> ssl.SSLContext | None:
        return ssl.create_default_context(cafile=self.ca_file or None) if self.tls else None


class NotBoundError(Exception):
    """Nothing was written: there is no bind, or its window stayed full."""


class BindRefusedError(Exception):
    """The message centre refused bind_transceiver."""


class Bind:
    """A bind that runs on its own thread and event loop; other threads use `run`."""

    def __init__(
        self,
        peer: Peer,
        *,
        window: int,
        timeout: tuple[float, float],
        enquire: float,
        deliver: OnDeliver,
        on_open: Callable[[], None],
        receipts: ReceiptQueue,
    ) -> None:
        self._peer = peer
        self._window = window
        self._connect_timeout, self._response_timeout = timeout
        self._enquire = enquire
        self._deliver = deliver
        self._on_open = on_open
        self._receipts = receipts
        self._session: Session | None = None
        self._failures = 0
        self._addresses = cycle(peer.addresses)
        self._address = next(self._addresses)
        self._stopping = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run_loop, name="smpp", daemon=True)

    @property
    def is_open(self) -> bool:
        return self._session is not None

    @property
    def unanswered(self) -> int:
        session = self._session
        return session.unanswered if session else 0

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stores the delivered receipts, unbinds and ends the thread."""
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine on the bind's loop and waits for it; call it from another thread."""
        if not self._thread.is_alive():
            work.close()
            raise NotBoundError
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def submit(self, until: float, late: Callable[[Pdu], None], **fields: Any) -> Pdu:
        """Sends a submit_sm and returns its response if it arrives before `until` (monotonic).

        Raises NotBoundError if nothing was written, else LostError or TimeoutError. A late response
        is passed to `late`.
        """
        session = await self._acquire_slot(until)
        response = session.request("submit_sm", **fields)
        response.add_done_callback(lambda _: session.slots.release())
        try:
            async with asyncio.timeout(until - time.monotonic()):
                return await asyncio.shield(response)
        except TimeoutError:
            response.add_done_callback(lambda done: _pass_late_response(done, late))
            raise

    async def _acquire_slot(self, until: float) -> Session:
        session = self._session
        if session is None:
            raise NotBoundError
        try:
            async with asyncio.timeout(until - time.monotonic()):
                await session.slots.acquire()
        except TimeoutError:
            raise NotBoundError from None
        if session is not self._session:
            raise NotBoundError
        return session

    def _run_loop(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._reconnect_forever())

    async def _reconnect_forever(self) -> None:
        storing = asyncio.create_task(self._receipts.run())
        while not self._stopping.is_set():
            started_at = time.monotonic()
            try:
                await self._serve()
            except (OSError, LostError, BindRefusedError) as error:
                logger.warning("no bind with %s: %s", self._address[0], _describe(error))
            except Exception:  # the thread's last handler: a bug must not leave the account unbound
                logger.exception("the bind with %s broke", self._address[0])
            self._address = next(self._addresses)
            lasted = time.monotonic() - started_at
            self._failures = 0 if lasted > STABLE_AFTER else self._failures + 1
            await self._back_off()
        storing.cancel()

    async def _back_off(self) -> None:
        """Waits with full jitter: the clients of a restarted centre must not reconnect together."""
        longest = min(MAX_BACKOFF, MIN_BACKOFF * 2.0 ** min(self._failures, 10))
        with suppress(TimeoutError):
            async with asyncio.timeout(random.uniform(0, longest)):  # noqa: S311 - not a secret
                await self._stopping.wait()

    async def _serve(self) -> None:
        """Runs one connection from connect to unbind."""
        session = await self._unless_stopped(self._connect())
        reading = asyncio.create_task(session.read())
        try:
            await self._unless_stopped(self._bind(session))
            self._session = session
            logger.info("bound to %s", self._address[0])
            self._on_open()
            await self._watch(reading, session)
            await self._unbind(reading, session)
        finally:
            self._session = None
            session.close()
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _unless_stopped(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of the work; raises LostError on stop: a silent centre must not delay it."""
        task = asyncio.create_task(work)
        stopping = asyncio.create_task(self._stopping.wait())
        await asyncio.wait({task, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not task.done():
            task.cancel()
            raise LostError("asked to stop")
        return task.result()

    async def _connect(self) -> Session:
        host, port = self._address
        async with asyncio.timeout(self._connect_timeout + self._response_timeout):
            streams = await asyncio.open_connection(host, port, ssl=self._peer.tls_context())
        return Session(*streams, window=self._window, deliver=self._deliver)

    async def _bind(self, session: Session) -> None:
        expected = session.request(
            "bind_transceiver",
            system_id=self._peer.system_id,
            password=self._peer.password,
            system_type=self._peer.system_type,
            interface_version=VERSION,
        )
        async with asyncio.timeout(self._response_timeout):
            response = await expected
        if response.status:
            raise BindRefusedError(command_status.name(response.status))

    async def _watch(self, reading: asyncio.Task[None], session: Session) -> None:
        """Watches the connection until stop; raises LostError if it breaks first."""
        asking = asyncio.create_task(session.keep_alive(self._enquire))
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            first = asyncio.FIRST_COMPLETED
            done, _ = await asyncio.wait({reading, asking, stopping}, return_when=first)
            if stopping not in done:
                await done.pop()
        finally:
            for task in (asking, stopping):
                task.cancel()
            await asyncio.gather(asking, stopping, return_exceptions=True)

    async def _unbind(self, reading: asyncio.Task[None], session: Session) -> None:
        self._session = None
        with suppress(TimeoutError):
            async with asyncio.timeout(UNBIND_TIMEOUT):
                await self._receipts.drained()
        # Some centres hang up instead of responding.
        ended: set[asyncio.Future[Any]] = {session.request("unbind"), reading}
        await asyncio.wait(ended, timeout=UNBIND_TIMEOUT, return_when=asyncio.FIRST_COMPLETED)


def _pass_late_response(response: "asyncio.Future[Pdu]", late: Callable[[Pdu], None]) -> None:
    if not response.cancelled() and response.exception() is None:
        late(response.result())


def _describe(error: Exception) -> str:
    return str(error) if isinstance(error, LostError | BindRefusedError) else type(error).__name__
