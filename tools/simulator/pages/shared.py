"""What the pages share: who may see them, their texts, and events for those that watch."""

import asyncio
import csv
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from aiohttp import web

from tools.simulator.channels import CHANNELS
from tools.simulator.faults import Fault
from tools.simulator.settings import Settings

if TYPE_CHECKING:
    from tools.simulator.vendor import Handler


class LocalOnly:
    def __init__(self, settings: Settings) -> None:
        """A foreign name of ours is a rebinding attack."""
        host = urlsplit(settings.own_url).hostname
        self._host_names = {"127.0.0.1", "localhost", "::1", host}

    def __call__(self, handler: "Handler") -> "Handler":
        async def guarded(request: web.Request) -> web.StreamResponse:
            if not self._is_own(request):
                return web.json_response({"error": "this host or origin is not ours"}, status=403)
            return await handler(request)

        return guarded

    def _is_own(self, request: web.Request) -> bool:
        """No foreign name (rebinding) and no foreign page (cross-site posts)."""
        origin = request.headers.get("Origin")
        if urlsplit(f"//{request.host}").hostname not in self._host_names:
            return False
        return origin is None or urlsplit(origin).netloc == request.host


def read_texts(path: Path) -> Mapping[str, Mapping[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        (_, *languages), *rows = csv.reader(file)
    return {lang: {row[0]: row[n] for row in rows} for n, lang in enumerate(languages, 1)}


LANGUAGES = read_texts(Path(__file__).with_name("texts.csv"))


def language_of(request: web.Request) -> str:
    """`?lang=` wins, then the first language of the browser; Russian where neither is ours."""
    asked = request.query.get("lang", "")
    if asked in LANGUAGES:
        return asked
    accepted = request.headers.get("Accept-Language", "")
    return "en" if accepted.strip().lower().startswith("en") else "ru"


def fault_words(fault: Fault, texts: Mapping[str, str]) -> str:
    facts = [
        texts[f"kind_{fault.kind or 'latency'}"],
        CHANNELS[fault.channel].title if fault.channel else "",
        texts[f"provider_{fault.provider}"] if fault.provider else "",
        f"+{fault.phone}" if fault.phone else "",
        texts["ms"].format(fault.latency_ms) if fault.latency_ms is not None else "",
        texts["times_left"].format(fault.times) if fault.times else "",
    ]
    return " · ".join(part for part in facts if part)


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
