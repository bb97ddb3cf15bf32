"""A company's backend, which retries calls until they are answered, and people who enter codes."""

import random
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import requests

from tools.chaos.plan import PlannedRequest, UserBehaviour
from tools.stack.clients import Arrival, Client, Reply, Scheduler
from tools.stack.stack import Account

LINK = "https://example.com/orders/{}"
PATHS = {"code": "/otp/send", "code_link": "/otp/send", "link": "/links/send"}
MAX_PAUSE = 1.0
JOURNAL = Path(__file__).with_name("journal.sql").read_text(encoding="utf-8")


class Journal:
    """Records each request before it is sent, and each response. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.executescript(JOURNAL)

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def keep(self, table: str, *row: object) -> None:
        """Adds a row with the current time; durable when this returns."""
        places = ",".join("?" * (len(row) + 1))
        with self._lock:
            self._db.execute(f"INSERT INTO {table} VALUES ({places})", (*row, time.time()))  # noqa: S608


class Backend:
    def __init__(
        self,
        client: Client,
        accounts: Sequence[Account],
        journal: Journal,
        scheduler: Scheduler,
        *,
        carrier: str,
        seed: int,
    ) -> None:
        self.client, self.accounts, self.journal = client, accounts, journal
        self.scheduler, self.carrier, self._seed = scheduler, carrier, seed
        self.answered = 0
        self.asked_again: set[str] = set()  # keys of orders whose code was requested again
        self.given_up = threading.Event()  # set when answers are no longer awaited

    def schedule(self, orders: Sequence[PlannedRequest], begin: float) -> None:
        for order in orders:
            self.scheduler.at(begin + order.at, partial(self._place, order, order.key))
            if order.again_at is not None:
                again = partial(self._place, order, f"{order.key}-again")
                self.scheduler.at(begin + order.again_at, again)

    def tries(
        self, path: str, body: dict[str, Any], account: Account, key: str, name: str
    ) -> Iterator[Reply]:
        """Retries with growing pauses until `given_up` is set."""
        for number in count(1):
            if self.given_up.is_set():
                return
            yield self.client.post(path, body, token=account.key, key=key)
            dice = random.Random(f"{self._seed}:{name}:{number}")  # noqa: S311 - reproducible
            pause = min(MAX_PAUSE, 0.1 * 2 ** min(number, 8))
            self.given_up.wait(pause * dice.uniform(0.5, 1.0))

    def _place(self, order: PlannedRequest, key: str) -> None:
        company = self.accounts[order.company].company_id
        self.journal.keep("orders", key, company, PATHS[order.kind], order.phone)
        if order.fault and key == order.key:  # the vendor's fault for this message
            fault = {"phone": order.phone, "kind": order.fault, "latency_ms": order.fault_ms}
            self._set_fault(fault | {"times": 1})
        if key != order.key:
            self.asked_again.add(order.key)
        if order.twin:
            self.scheduler.now(partial(self._until_answered, order, key))
        self._until_answered(order, key)
        self.answered += 1

    def _until_answered(self, order: PlannedRequest, key: str) -> None:
        path, account = PATHS[order.kind], self.accounts[order.company]
        for reply in self.tries(path, body_of(order), account, key, key):
            message, answer = reply.body.get("id", ""), (reply.status, reply.code)
            response = (reply.text, reply.replayed, reply.seconds)
            self.journal.keep("calls", key, *answer, message, *response)
            if reply.is_final:
                return

    def slow_vendors(self, milliseconds: int) -> None:
        """Sets the latency of every vendor's answers to sends."""
        self._set_fault({"latency_ms": milliseconds})

    def _set_fault(self, fault: dict[str, Any]) -> None:
        with suppress(requests.RequestException):
            requests.post(f"{self.carrier}/faults", json=fault, timeout=10)


def body_of(order: PlannedRequest) -> dict[str, Any]:
    body: dict[str, Any] = {"phone": order.phone}
    if order.channel:
        body["channel"] = order.channel
    if order.kind == "code_link":
        body["link"] = LINK.format(order.n)
    if order.kind == "link":
        body |= {"url": LINK.format(order.n), "text": "Ваш заказ: :link"}
    return body


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
        # Who requests a code twice waits for the second; a code may also come by two channels.
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
            self._type(order, wrong, f"wrong-{number}", is_correct=False)
        if order.person is UserBehaviour.PARALLEL:
            twin = partial(self._type, order, code, "correct-2", is_correct=True)
            self._backend.scheduler.now(twin)
        self._type(order, code, "correct-1", is_correct=True)

    def _type(self, order: PlannedRequest, code: str, name: str, *, is_correct: bool) -> None:
        """One entry, repeated until it gets an answer; its Idempotency-Key makes repeats safe."""
        account, attempt = self._backend.accounts[order.company], f"{order.key}-{name}"
        key, body = attempt if order.keyed else "", {"phone": order.phone, "code": code}
        for reply in self._backend.tries("/otp/verify", body, account, key, attempt):
            guess = (order.key, key, attempt, account.company_id, order.phone, is_correct)
            response = (reply.status, reply.code, reply.body.get("id", ""), reply.seconds)
            self._backend.journal.keep("entries", *guess, *response)
            if reply.is_final:
                return
