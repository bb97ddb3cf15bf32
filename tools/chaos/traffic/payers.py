"""A company that tops up, and has the payment simulator do what payers and banks do."""

import threading
from collections.abc import Sequence
from functools import partial
from typing import Any

import requests

from config.ids import parse_id
from tools.chaos.payment_plan import PlannedPayment
from tools.chaos.traffic.client import Account, Backend

INVOICE = "invoice"
BY_TRANSFER = {INVOICE}
STATEMENT_AGED = "UPDATE billing_statementmark SET tried_at = tried_at - interval '2 minutes'"
TIMEOUT = 30.0


class Payers:
    """`paid`: ids of the orders that the simulator took money for, by the key of the top-up."""

    def __init__(self, backend: Backend, account: Account) -> None:
        self.account = account
        self.paid: dict[str, str] = {}
        self._backend = backend
        self._placed: dict[str, dict[str, Any]] = {}
        self._refused: list[str] = []
        self._lock = threading.Lock()

    def schedule(self, payments: Sequence[PlannedPayment], begin: float) -> None:
        for payment in payments:
            self._backend.scheduler.at(begin + payment.at, partial(self._place, payment))

    def order_id(self, payment: PlannedPayment) -> str | None:
        """Once it is placed, as the database has it."""
        placed = self._placed.get(payment.key)
        return str(parse_id("top", placed["id"])) if placed else None

    @property
    def faults(self) -> list[str]:
        """Top-ups that the service should have taken, and did not."""
        return self._refused

    def _place(self, payment: PlannedPayment) -> None:
        """Repeated with its key until there is an answer."""
        body, tries = {"tokens": payment.tokens, "gateway": payment.gateway}, 0
        while not self._backend.given_up.is_set():
            reply = self._backend.client.post(
                "/top-up", body, token=self.account.key, key=payment.key
            )
            if reply.is_definite:
                break
            tries += 1
            self._backend.pause(payment.key, tries)
        else:
            return
        if reply.body.get("success"):
            self._placed[payment.key] = reply.body
            if payment.lock is None:
                self.pay(payment)
        else:
            self._refused.append(f"{payment.gateway}: {reply.status} {reply.code}")

    def pay_soon(self, payment: PlannedPayment) -> None:
        self._backend.scheduler.now(partial(self.pay, payment))

    def pay(self, payment: PlannedPayment) -> None:
        placed = self._placed[payment.key]
        if payment.gateway in BY_TRANSFER:
            purpose = f"Оплата по счёту № {placed['invoice']}"
            self._tell("/transfers", {"amount": placed["amount"], "purpose": purpose})
        else:
            self._act(placed, {"action": "pay", "how": payment.how})
        with self._lock:
            self.paid[payment.key] = str(parse_id("top", placed["id"]))

    def notify_again(self) -> None:
        """Of every payment once more: a credit that is there must stay the only one."""
        for key in self.paid:
            placed = self._placed[key]
            if placed["gateway"] not in BY_TRANSFER:
                self._act(placed, {"action": "notify"})

    def open_query(self) -> str:
        """How many of the paid orders are not credited yet."""
        ids = ",".join(self.paid.values())
        return (
            "SELECT count(*) FROM billing_order"  # noqa: S608 - ids of ours
            f" WHERE id = ANY('{{{ids}}}'::uuid[]) AND state <> 'paid'"
        )

    def _act(self, placed: dict[str, Any], body: dict[str, Any]) -> None:
        name = str(placed["payment_url"]).rsplit("/", 1)[-1]
        self._tell(f"/payments/{name}/actions", body)

    def _tell(self, path: str, body: dict[str, Any]) -> None:
        answer = requests.post(f"{self._backend.carrier}{path}", json=body, timeout=TIMEOUT)
        answer.raise_for_status()
