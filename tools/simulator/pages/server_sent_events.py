"""Live updates of the page: server-sent events naming the phones that changed."""

import asyncio
import json
from collections.abc import Iterable

from aiohttp import web

GATHER = 0.1  # seconds in which a burst becomes one event
HEARTBEAT = 15.0
NAMED = 50  # phones named in one event; a page reloads its list anyway


class Watcher:
    def __init__(self) -> None:
        self.phones: dict[str, None] = {}
        self.stirred = asyncio.Event()


class Events:
    def __init__(self) -> None:
        self._watchers: set[Watcher] = set()
        self._closing = False

    def changed(self, phones: Iterable[str] = ()) -> None:
        for watcher in self._watchers:
            watcher.phones.update(dict.fromkeys(phones))
            watcher.stirred.set()

    async def close(self, _app: web.Application) -> None:
        self._closing = True
        self.changed()

    async def stream(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"}
        )
        await response.prepare(request)
        watcher = Watcher()
        self._watchers.add(watcher)
        try:
            await self._feed(response, watcher)
        except ConnectionResetError:
            pass  # the page was closed
        finally:
            self._watchers.discard(watcher)
        return response

    async def _feed(self, response: web.StreamResponse, watcher: Watcher) -> None:
        await response.write(b"retry: 1000\n\n")
        while not self._closing:
            try:
                await asyncio.wait_for(watcher.stirred.wait(), HEARTBEAT)
            except TimeoutError:
                await response.write(b":\n\n")
                continue
            await response.write(_event(watcher))
            await asyncio.sleep(GATHER)


def _event(watcher: Watcher) -> bytes:
    phones = list(watcher.phones)[-NAMED:]
    watcher.phones.clear()
    watcher.stirred.clear()
    return f"event: change\ndata: {json.dumps({'phones': phones})}\n\n".encode()
