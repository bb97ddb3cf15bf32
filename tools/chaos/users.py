"""Phone users: they read a code when it arrives, by the simulator's log, and enter it."""

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import requests

from tools.chaos.client import Backend
from tools.chaos.plan import PlannedRequest, UserBehaviour

POLL_INTERVAL = 0.02  # seconds
_ARRIVED = "SELECT id, phone, code, links, extra FROM messages WHERE id > ? ORDER BY id"


@dataclass(frozen=True)
class Arrival:
    number: int
    phone: str
    code: str | None
    links: list[str]
    faults: list[str]


class LogFollower:
    """Calls `arrive` with each message once, in order, on a thread of its own."""

    def __init__(self, log: Path, arrive: Callable[[Arrival], None]) -> None:
        self._log = log
        self._arrive = arrive
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="log follower", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._stopping.set()
        self._thread.join()

    def _watch(self) -> None:
        newest = 0
        with closing(sqlite3.connect(f"file:{self._log}?mode=ro", uri=True)) as log:
            while not self._stopping.wait(POLL_INTERVAL):
                for row in log.execute(_ARRIVED, [newest]).fetchall():
                    newest, phone, code, links, extra = row
                    faults = json.loads(extra).get("faults", [])
                    self._arrive(Arrival(newest, f"+{phone}", code, json.loads(links), faults))


class PhoneUsers:
    def __init__(self, backend: Backend, orders: Sequence[PlannedRequest], carrier: str) -> None:
        self._backend = backend
        self._orders = {order.phone: order for order in orders}
        self._carrier = carrier
        self._newest: dict[str, str] = {}  # code on each phone
        self._typed: set[str] = set()

    def arrive(self, arrival: Arrival) -> None:
        order = self._orders.get(arrival.phone)
        if order is None or "undelivered" in arrival.faults:
            return
        moment = time.monotonic() + order.delay
        if order.reads:
            self._backend.scheduler.at(moment, partial(self._read, arrival))
        if not (order.person and arrival.code):
            return
        self._newest[arrival.phone] = arrival.code
        # Who asks for a code twice waits for the second; a code may come by two channels as well.
        is_awaited = order.again_at is None or order.key in self._backend.asked_again
        if is_awaited and arrival.phone not in self._typed:
            self._typed.add(arrival.phone)
            self._backend.scheduler.at(moment, partial(self._enter, order))

    def _read(self, arrival: Arrival) -> None:
        with suppress(requests.RequestException):
            requests.post(f"{self._carrier}/messages/{arrival.number}/read", timeout=10)

    def _enter(self, order: PlannedRequest) -> None:
        code = self._newest[order.phone]
        for number in range(1, order.wrong + 1):
            wrong = f"{(int(code) + number) % 10 ** len(code):0{len(code)}d}"
            self._type(order, wrong, f"wrong-{number}", is_right=False)
        if order.person is UserBehaviour.PARALLEL:
            twin = partial(self._type, order, code, "right-2", is_right=True)
            self._backend.scheduler.now(twin)
        self._type(order, code, "right-1", is_right=True)

    def _type(self, order: PlannedRequest, code: str, name: str, *, is_right: bool) -> None:
        """One entry, repeated until it gets a verdict; its Idempotency-Key makes repeats safe."""
        account, attempt = self._backend.accounts[order.company], f"{order.key}-{name}"
        key, body = attempt if order.keyed else "", {"phone": order.phone, "code": code}
        for reply in self._backend.tries("/otp/verify", body, account, key, attempt):
            who = (order.key, key, attempt, account.company_id, order.phone, is_right)
            answer = (reply.status, reply.code, reply.body.get("id", ""), reply.seconds)
            self._backend.journal.keep("entries", *who, *answer)
            if reply.is_final:
                return
