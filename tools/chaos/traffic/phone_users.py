"""Simulated phone users: they read a code when it arrives and enter it, right or wrong."""

import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import requests

from tools.chaos.plan import PlannedRequest, UserBehaviour
from tools.chaos.traffic.client import Backend
from tools.chaos.traffic.log_follower import Arrival


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
        backend = self._backend
        account, attempt = backend.accounts[order.company], f"{order.key}-{name}"
        key, tries = attempt if order.keyed else "", 0
        while not backend.given_up.is_set():
            body = {"phone": order.phone, "code": code}
            reply = backend.client.post("/otp/verify", body, token=account.key, key=key)
            backend.journal.entry(
                person=order.key,
                key=key,
                attempt=attempt,
                company_id=account.company_id,
                phone=order.phone,
                is_right=is_right,
                status=reply.status,
                code=reply.code,
                verification=reply.body.get("id", ""),
                seconds=reply.seconds,
            )
            if reply.is_definite and reply.status != requests.codes.internal_server_error:
                return
            tries += 1
            backend.pause(attempt, tries)
