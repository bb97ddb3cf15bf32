"""Sends receipts and notices to the service until it acknowledges them."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from functools import partial

import aiohttp
from aiohttp import web
from yarl import URL

from tools.simulator.message_log import MessageLog
from tools.simulator.messages import DUPLICATE, SILENT, Message
from tools.simulator.pages.server_sent_events import Events
from tools.simulator.vendor import Post, Tell, Vendor
from tools.simulator.wire_log import WireLog

GAPS = (0.2, 0.5, 1, 2, 4, 7, *[10] * 30)  # about five minutes
TIMEOUT = aiohttp.ClientTimeout(sock_connect=2, sock_read=10)
AT_ONCE = 64
MakePost = Callable[[], Post | Tell | None]


class ReceiptSender:
    def __init__(
        self, log: MessageLog, events: Events, vendors: Mapping[str, Vendor], wire: WireLog
    ) -> None:
        self._log, self._events, self._vendors, self._wire = log, events, vendors, wire
        self._jobs: dict[int, asyncio.Task[None]] = {}
        self._single_calls: set[asyncio.Task[None]] = set()

    async def running(self, _app: web.Application) -> AsyncIterator[None]:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=AT_ONCE),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=TIMEOUT,
        )
        now = time.time()
        for message in self._log.unfinished():
            self.start(message, max(0.0, message.extra.get("due", 0) - now))
        yield
        tasks = [*self._jobs.values(), *self._single_calls]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._session.close()

    def start(self, message: Message, delay: float) -> None:
        """Work off the pending receipts of a message, from now on by this job alone."""
        if not message.pending:
            return
        if earlier := self._jobs.get(message.id):
            earlier.cancel()
        self._jobs[message.id] = asyncio.create_task(self._work_off(message, delay))

    def add(self, message: Message, event: str) -> None:
        """One more receipt, after those that are under way."""
        message.reach(event)
        message.pending.append(event)
        self._note(message)
        if message.id not in self._jobs:
            self.start(message, 0)

    def replace(self, message: Message, event: str) -> None:
        """Only this receipt, and now."""
        message.reach(event)
        message.pending[:] = [event]
        self._note(message)
        self.start(message, 0)

    def run(
        self, posts: Iterable[MakePost], provider: str, phone: str = "", delay: float = 0.0
    ) -> asyncio.Task[None]:
        """Calls that belong to no message, one after the other."""
        task = asyncio.create_task(self._run(list(posts), provider, phone, delay))
        self._single_calls.add(task)
        task.add_done_callback(self._single_calls.discard)
        return task

    async def _run(self, posts: list[MakePost], provider: str, phone: str, delay: float) -> None:
        await asyncio.sleep(delay)
        for make in posts:
            await self._push(make, provider, phone)

    async def _work_off(self, message: Message, delay: float) -> None:
        try:
            await asyncio.sleep(delay)
            while message.pending:
                if not await self._report(message, message.pending[0]):
                    return  # still pending: the next start of the simulator tries again
                message.pending.pop(0)
            self._log.save(message)
        finally:
            if self._jobs.get(message.id) is asyncio.current_task():
                del self._jobs[message.id]

    async def _report(self, message: Message, marked: str) -> bool:
        event = marked.lstrip(DUPLICATE + SILENT)
        if message.reach(event):
            self._note(message)
        if marked.startswith(SILENT):
            return True
        moment = time.time() + (1 if marked.startswith(DUPLICATE) else 0)
        vendor = self._vendors[message.provider]
        make = partial(vendor.receipt, message, event, moment)
        return await self._push(make, vendor.name, message.phone)

    def _note(self, message: Message) -> None:
        self._log.save(message)
        self._events.changed([message.phone])

    async def _push(self, make: MakePost, provider: str, phone: str) -> bool:
        for gap in GAPS:
            # Made anew each time: a signature may hold the time of its own making.
            post = make()
            if post is None:
                return True
            if isinstance(post, Post):
                is_taken = await self._is_taken(post, provider, phone)
            else:
                is_taken = await post()
            if is_taken:
                return True
            await asyncio.sleep(gap)
        return False

    async def _is_taken(self, post: Post, provider: str, phone: str) -> bool:
        exchange, url = self._wire.receipt(provider, phone, post), URL(post.url, encoded=True)
        try:
            async with self._session.post(
                url, data=post.body, headers=post.headers, allow_redirects=False
            ) as answer:
                status = answer.status
                self._wire.end(exchange, str(status), await answer.read())
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            self._wire.end(exchange, type(error).__name__)
            return False
        is_final = post.or_403 and status == web.HTTPForbidden.status_code
        return is_final or status == web.HTTPOk.status_code or (post.any_2xx and status // 100 == 2)
