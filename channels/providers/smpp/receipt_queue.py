"""Hands reports in to be stored, in groups and in their order, on a thread that may wait."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from channels.providers.hosted_provider import Report, StoreReports

BATCH_SIZE = 64
RETRY_DELAY = 1.0  # seconds after a failure: whoever stores them has lost its database

Answer = Callable[[bool], None]  # tells the centre whether its receipt was stored
Item = tuple[Report, Answer | None]

logger = logging.getLogger(__name__)


class ReceiptQueue:
    """A receipt that could not be stored is refused, and the centre brings it again; a note of
    our own is kept and tried again.
    """

    def __init__(self, keep: StoreReports) -> None:
        self._keep = keep
        self._waiting: asyncio.Queue[Item] = asyncio.Queue()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="keep")

    def put(self, report: Report, answer: Answer | None = None) -> None:
        self._waiting.put_nowait((report, answer))

    async def run(self) -> None:
        while True:
            group = await self._group()
            if not await self._stored(group):
                await asyncio.sleep(RETRY_DELAY)

    async def drained(self) -> None:
        """Once everything so far is stored."""
        await self._waiting.join()

    async def _group(self) -> list[Item]:
        group = [await self._waiting.get()]
        while len(group) < BATCH_SIZE and not self._waiting.empty():
            group.append(self._waiting.get_nowait())
        return group

    async def _stored(self, group: list[Item]) -> bool:
        reports = [report for report, _ in group]
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._thread, self._keep, reports)
        except Exception as error:  # the process's edge: whatever the reason, nothing is lost
            logger.error("receipts_not_stored: %s", type(error).__name__)  # noqa: TRY400
            is_stored = False
        else:
            is_stored = True
        for report, answer in group:
            self._finish(report, answer, is_stored=is_stored)
        return is_stored

    def _finish(self, report: Report, answer: Answer | None, *, is_stored: bool) -> None:
        if answer is not None:
            answer(is_stored)
        elif not is_stored:
            self.put(report)
        self._waiting.task_done()
