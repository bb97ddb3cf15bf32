"""Sends notices to the service until it takes them, as the providers do."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import aiohttp
from aiohttp import web
from yarl import URL

from tools.simulator.vendor import Post
from tools.simulator.wire_log import WireLog

GAPS = (0.2, 0.5, 1, 2, 4, 7, *[10] * 30)  # about five minutes
TIMEOUT = aiohttp.ClientTimeout(sock_connect=2, sock_read=15)
REFUSED = 403  # as forged: another try changes nothing


class NoticeSender:
    def __init__(self, wire: WireLog) -> None:
        self._wire = wire
        self._tasks: set[asyncio.Task[None]] = set()

    async def running(self, _app: web.Application) -> AsyncIterator[None]:
        self._session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), timeout=TIMEOUT)
        yield
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._session.close()

    def start(self, provider: str, posts: Sequence[Post], delay: float = 0.0) -> asyncio.Task[None]:
        """One after the other; each is repeated until it is taken."""
        task = asyncio.create_task(self._send(provider, posts, delay))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _send(self, provider: str, posts: Sequence[Post], delay: float) -> None:
        await asyncio.sleep(delay)
        for post in posts:
            for gap in GAPS:
                if await self._is_taken(provider, post):
                    break
                await asyncio.sleep(gap)

    async def _is_taken(self, provider: str, post: Post) -> bool:
        exchange = self._wire.receipt(provider, "", post)
        try:
            async with self._session.post(
                URL(post.url, encoded=True), data=post.body, headers=post.headers
            ) as answer:
                self._wire.end(exchange, str(answer.status), await answer.read())
                return 200 <= answer.status < 300 or answer.status == REFUSED
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            self._wire.end(exchange, type(error).__name__)
            return False
