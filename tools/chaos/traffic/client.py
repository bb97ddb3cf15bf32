"""A company's backend: it persists a request, sends it, and repeats it until it is answered."""

import random
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import requests

from tools.chaos.plan import PlannedRequest
from tools.chaos.traffic.journal import Journal
from tools.chaos.traffic.scheduler import Scheduler

CONFLICT, UNAVAILABLE = 409, 503
LINK = "https://example.com/orders/{}"
PATHS = {"code": "/otp/send", "code_link": "/otp/send", "link": "/links/send"}
LONGEST_PAUSE = 1.0


@dataclass(frozen=True)
class Account:
    """A company as its backend knows it."""

    company_id: int
    key: str


@dataclass(frozen=True)
class Reply:
    """An answer to a call; status 0 when none came, or none that can be read."""

    status: int
    code: str
    body: dict[str, Any]
    text: str
    replayed: bool
    seconds: float

    @property
    def is_definite(self) -> bool:
        return self.status not in {0, CONFLICT, UNAVAILABLE} and self.code != "rate_limited"


class Client:
    """The wire: one session per thread, and no retries that the journal would not know of."""

    def __init__(self, api: str, timeout: tuple[float, float]) -> None:
        self._api = api
        self._timeout = timeout
        self._local = threading.local()

    def post(self, path: str, body: dict[str, Any], *, token: str, key: str) -> Reply:
        headers = {"Authorization": f"Bearer {token}"} | ({"Idempotency-Key": key} if key else {})
        begun = time.monotonic()
        try:
            answer = self._session().post(
                f"{self._api}/api/v1{path}", json=body, headers=headers, timeout=self._timeout
            )
            answered = answer.json()
        except (requests.RequestException, ValueError) as error:
            name = type(error).__name__
            return Reply(0, name, {}, "", replayed=False, seconds=time.monotonic() - begun)
        replayed = answer.headers.get("Idempotent-Replayed") == "true"
        seconds = time.monotonic() - begun
        return Reply(
            answer.status_code, answered.get("code", ""), answered, answer.text, replayed, seconds
        )

    def _session(self) -> requests.Session:
        if not hasattr(self._local, "session"):
            self._local.session = requests.Session()
        session: requests.Session = self._local.session
        return session


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
        self.client = client
        self.accounts = accounts
        self.journal = journal
        self.scheduler = scheduler
        self.answered = 0
        self.asked_again: set[str] = set()  # keys of orders whose code was asked for once more
        self.given_up = threading.Event()  # nobody waits for answers any more
        self.carrier = carrier
        self._seed = seed

    def schedule(self, orders: Sequence[PlannedRequest], begin: float) -> None:
        for order in orders:
            self.scheduler.at(begin + order.at, partial(self._place, order, order.key))
            if order.again_at is not None:
                again = partial(self._place, order, f"{order.key}-again")
                self.scheduler.at(begin + order.again_at, again)

    def pause(self, key: str, tries: int) -> None:
        """Between two calls, longer each time; cut short when nobody waits any more."""
        dice = random.Random(f"{self._seed}:{key}:{tries}")  # noqa: S311 - to be drawn again
        self.given_up.wait(min(LONGEST_PAUSE, 0.1 * 2 ** min(tries, 8)) * dice.uniform(0.5, 1.0))

    def _place(self, order: PlannedRequest, key: str) -> None:
        account, path = self.accounts[order.company], PATHS[order.kind]
        self.journal.order(key=key, company_id=account.company_id, path=path, phone=order.phone)
        if order.fault and key == order.key:
            self._set_planned_fault(order)
        if key != order.key:
            self.asked_again.add(order.key)
        if order.twin:
            self.scheduler.now(partial(self._until_answered, order, key))
        self._until_answered(order, key)
        self.answered += 1

    def _until_answered(self, order: PlannedRequest, key: str) -> None:
        body, token, tries = body_of(order), self.accounts[order.company].key, 0
        while not self.given_up.is_set():
            reply = self.client.post(PATHS[order.kind], body, token=token, key=key)
            self.journal.call(
                key=key,
                status=reply.status,
                code=reply.code,
                message=reply.body.get("id", ""),
                body=reply.text,
                replayed=reply.replayed,
                seconds=reply.seconds,
            )
            if reply.is_definite and reply.status != requests.codes.internal_server_error:
                return
            tries += 1
            self.pause(key, tries)

    def slow_vendors(self, milliseconds: int) -> None:
        """What every vendor takes to answer a send."""
        self._set_fault({"latency_ms": milliseconds})

    def _set_planned_fault(self, order: PlannedRequest) -> None:
        """What the vendor will do to this one message."""
        self._set_fault(
            {
                "phone": order.phone,
                "kind": order.fault,
                "latency_ms": order.fault_ms,
                "times": 1,
            }
        )

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
