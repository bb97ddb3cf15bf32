"""Stores received events, in batches and in order, on a thread that may block on the database."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from channels.providers.base import StoreEvents
from channels.providers.inbound import InboundEvents

BATCH_SIZE = 64
MAX_WAITING = 4096  # events; more than a centre leaves without a response, unless it floods us
RETRY_DELAY = 1.0  # seconds after a failure: the database is down

Respond = Callable[[bool], None]  # tells the centre whether its receipt was stored
Item = tuple[InboundEvents, Respond | None]

logger = logging.getLogger(__name__)


class ReceiptQueue:
    """A queue of events to store.

    Events from the centre that cannot be stored are refused, so that the centre repeats them. Our
    own events are queued again.
    """

    def __init__(self, store: StoreEvents) -> None:
        self._store = store
        self._queue: asyncio.Queue[Item] = asyncio.Queue()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="keep")

    def put(self, events: InboundEvents, respond: Respond | None = None) -> None:
        self._queue.put_nowait((events, respond))

    @property
    def is_full(self) -> bool:
        return self._queue.qsize() >= MAX_WAITING

    async def run(self) -> None:
        while True:
            batch = await self._next_batch()
            if not await self._try_to_store(batch):
                await asyncio.sleep(RETRY_DELAY)

    async def drained(self) -> None:
        """Waits until everything queued is stored."""
        await self._queue.join()

    async def _next_batch(self) -> list[Item]:
        batch = [await self._queue.get()]
        while len(batch) < BATCH_SIZE and not self._queue.empty():
            batch.append(self._queue.get_nowait())
        return batch

    async def _try_to_store(self, batch: list[Item]) -> bool:
        received = [events for events, _ in batch]
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._thread, self._store, received)
        except Exception as error:  # last handler of the thread: no error may lose an event
            logger.error("receipts_not_stored: %s", type(error).__name__)  # noqa: TRY400
            if len(batch) > 1:
                return await self._store_one_by_one(batch)
            is_stored = False
        else:
            is_stored = True
        for events, respond in batch:
            self._finish(events, respond, is_stored=is_stored)
        return is_stored

    async def _store_one_by_one(self, batch: list[Item]) -> bool:
        """Stores events one by one, without those that fail; returns whether the last was stored.

        Two failures in a row mean that the database is down: the rest are not tried.
        """
        is_stored = True
        for number, item in enumerate(batch, start=1):
            was_stored = is_stored
            is_stored = await self._try_to_store([item])
            if not is_stored and not was_stored:
                for events, respond in batch[number:]:
                    self._finish(events, respond, is_stored=False)
                return False
        return True

    def _finish(self, events: InboundEvents, respond: Respond | None, *, is_stored: bool) -> None:
        if respond is not None:
            respond(is_stored)
        elif not is_stored:
            self.put(events)
        self._queue.task_done()
