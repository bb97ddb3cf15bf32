"""The people of a live run: each asks for a code, waits for it, types it, or gives up."""

import asyncio
import json
import math
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from tools.replay.timeline import Send

POLL_INTERVAL = 0.05  # seconds
TIMEOUT = aiohttp.ClientTimeout(total=30)
_TAKEN = "SELECT id, phone, code, extra FROM messages WHERE id > ? ORDER BY id"


@dataclass(slots=True)
class Visit:
    """One send and what came of it; times are seconds since 1970 but for `verified`."""

    send: Send
    token: str  # of the company that it is sent for
    started: float = math.inf
    answered: float = math.inf
    refusal: str = ""  # the API's code, where it did not send
    is_typing: bool = False
    verified: float = math.inf  # seconds from its start


@dataclass(slots=True)
class People:
    """Everybody who is sent to; one event loop plays them all."""

    api: str
    log: Path  # the simulator's
    by_phone: dict[str, Visit]
    unexpected: Counter[str] = field(default_factory=Counter)  # answers to codes, by their code
    _entering: set[asyncio.Task[None]] = field(default_factory=set)

    async def play(self, phases: Sequence["Phase"], settled: Callable[[], bool]) -> None:
        """One phase begins when the last send of the one before is made."""
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(self.api, connector=connector, timeout=TIMEOUT) as session:
            follower = asyncio.create_task(self._follow(session))  # `asyncio.run` ends it
            for phase in phases:
                await asyncio.to_thread(phase.prepare)
                phase.began = time.time()
                calls = [asyncio.create_task(self._send(session, visit, phase)) for visit in phase]
                await asyncio.gather(*calls)
            while not follower.done():
                if await asyncio.to_thread(settled) and not self._entering:
                    return
                await asyncio.sleep(1)
            follower.result()

    async def _send(self, session: aiohttp.ClientSession, visit: Visit, phase: "Phase") -> None:
        await _sleep_until(phase.began + visit.send.at)
        visit.started = time.time()
        status, body = await _post(
            session, "/api/v1/otp/send", visit.token, {"phone": visit.send.person.phone}
        )
        visit.answered = time.time()
        if status != 200:
            visit.refusal = str(body.get("code") or status)

    async def _follow(self, session: aiohttp.ClientSession) -> None:
        """A phone has a message when the simulator's log says so."""
        newest = 0
        with closing(sqlite3.connect(f"file:{self.log}?mode=ro", uri=True)) as log:
            while True:
                for number, phone, code, extra in log.execute(_TAKEN, (newest,)).fetchall():
                    newest = number
                    arrives = json.loads(extra).get("arrives")
                    visit = self.by_phone.get(f"+{phone}")
                    if visit is not None and arrives is not None:
                        self._enter_later(session, visit, code, arrives)
                await asyncio.sleep(POLL_INTERVAL)

    def _enter_later(
        self, session: aiohttp.ClientSession, visit: Visit, code: str, arrives: float
    ) -> None:
        task = asyncio.create_task(self._enter(session, visit, code, arrives))
        self._entering.add(task)
        task.add_done_callback(self._entering.discard)

    async def _enter(
        self, session: aiohttp.ClientSession, visit: Visit, code: str, arrives: float
    ) -> None:
        await _sleep_until(arrives)
        if visit.is_typing or arrives - visit.started > visit.send.gives_up:
            return
        visit.is_typing = True
        for pause, typed in entries(visit.send, code):
            await asyncio.sleep(pause)
            body = {"phone": visit.send.person.phone, "code": typed}
            status, answer = await _post(session, "/api/v1/otp/verify", visit.token, body)
            if status == 200:
                visit.verified = time.time() - visit.started
            elif typed == code:
                self.unexpected[str(answer.get("code") or status)] += 1


@dataclass(slots=True)
class Phase:
    """Visits in the order of time, and what must be done before the first."""

    visits: list[Visit]
    prepare: Callable[[], None]
    began: float = 0.0

    def __iter__(self) -> Iterator[Visit]:
        return iter(self.visits)


def entries(send: Send, code: str) -> Iterator[tuple[float, str]]:
    """Seconds before each code that is typed, and the code: the wrong ones come first."""
    is_right = not send.never_right
    pause = send.typing / max(1, send.wrong_codes + is_right)
    for n in range(send.wrong_codes):
        yield pause, f"{(int(code) + 1 + n) % 10 ** len(code):0{len(code)}}"
    if is_right:
        yield pause, code


async def _sleep_until(moment: float) -> None:
    await asyncio.sleep(max(0.0, moment - time.time()))


async def _post(
    session: aiohttp.ClientSession, path: str, token: str, body: Mapping[str, str]
) -> tuple[int, dict[str, Any]]:
    """Status 0 where no answer came, or none that can be read."""
    headers = {"Authorization": f"Bearer {token}"}
    try:
        async with session.post(path, json=body, headers=headers) as answer:
            return answer.status, await answer.json()
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        return 0, {"code": type(error).__name__}
