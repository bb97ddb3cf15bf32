"""Top-ups of a run: their payers, kills between webhook and credit, and a check of the credits."""

import time
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Any

import psycopg
import requests

from catalogue.ids import parse_id
from tools.chaos.checks import Finding, select
from tools.chaos.client import Backend
from tools.chaos.fault_injector import FaultInjector
from tools.chaos.plan import INVOICE, PlannedPayment, Target
from tools.chaos.stack import Stack
from tools.queries import queries
from tools.stack.stack import Account

TIMEOUT = 30.0
RETRY_AFTER = 0.3  # seconds until a retry, if the order is not placed or a store is down
MAX_WAIT = 5.0  # for the webhook; the bank's statement is read every five seconds
_SQL = queries(__file__)


class Payers:
    """A company that tops up, and makes the payment simulator act as payers and banks.

    `paid`: ids of the orders paid in the simulator, by the key of the top-up;
    `refused`: top-ups that the service should have accepted but did not.
    """

    def __init__(self, backend: Backend, account: Account) -> None:
        self.account = account
        self.paid: dict[str, str] = {}
        self.refused: list[str] = []
        self._backend = backend
        self._placed: dict[str, dict[str, Any]] = {}

    def schedule(self, payments: Sequence[PlannedPayment], begin: float) -> None:
        for payment in payments:
            self._backend.scheduler.at(begin + payment.at, partial(self._place, payment))

    def order_id(self, payment: PlannedPayment) -> str | None:
        """The id of the order once it is placed, as stored in the database."""
        placed = self._placed.get(payment.key)
        return str(parse_id("top", placed["id"])) if placed else None

    def _place(self, payment: PlannedPayment) -> None:
        """Places the order, repeated with its key until there is an answer."""
        body = {"tokens": payment.tokens, "gateway": payment.gateway}
        for reply in self._backend.tries("/top-up", body, self.account, payment.key, payment.key):
            if not reply.is_definite:
                continue
            if not reply.body.get("success"):
                self.refused.append(f"{payment.gateway}: {reply.status} {reply.code}")
                return
            self._placed[payment.key] = reply.body
            if payment.lock is None:
                self.pay(payment)
            return

    def pay_soon(self, payment: PlannedPayment) -> None:
        self._backend.scheduler.now(partial(self.pay, payment))

    def pay(self, payment: PlannedPayment) -> None:
        placed = self._placed[payment.key]
        if payment.gateway == INVOICE:
            purpose = f"Оплата по счёту № {placed['invoice']}"
            self._post("/transfers", {"amount": placed["amount"], "purpose": purpose})
        else:
            self._act(placed, {"action": "pay", "how": payment.how})
        self.paid[payment.key] = str(parse_id("top", placed["id"]))

    def notify_again(self) -> None:
        """Repeats the webhook of every payment, which must not be credited twice."""
        for key in self.paid:
            if self._placed[key]["gateway"] != INVOICE:
                self._act(self._placed[key], {"action": "notify"})

    def open_query(self) -> str:
        """SQL of the number of paid orders that are not credited yet."""
        ids = ",".join(self.paid.values())
        return (
            "SELECT count(*) FROM billing_order"  # noqa: S608 - our own ids
            f" WHERE id = ANY('{{{ids}}}'::uuid[]) AND state <> 'paid'"
        )

    def _act(self, placed: dict[str, Any], body: dict[str, Any]) -> None:
        name = str(placed["payment_url"]).rsplit("/", 1)[-1]
        self._post(f"/payments/{name}/actions", body)

    def _post(self, path: str, body: dict[str, Any]) -> None:
        response = requests.post(f"{self._backend.carrier}{path}", json=body, timeout=TIMEOUT)
        response.raise_for_status()


class CreditKiller:
    """Kills web and workers while a credit waits between its webhook and its commit.

    Our session holds a lock that the credit needs; once a session waits for it, everything that
    could be crediting is killed. Each time counts as a kill of web and one of a worker.
    """

    def __init__(self, stack: Stack, injector: FaultInjector, payers: Payers) -> None:
        self.hits = 0  # credits that waited when everything around them was killed
        self.planned = 0
        self._stack, self._injector, self._payers = stack, injector, payers

    def plan(self, begin: float, payments: Sequence[PlannedPayment]) -> None:
        """Adds kills at credits to the injector's own plan, which must exist already."""
        met = [payment for payment in payments if payment.lock]
        self.planned = len(met)
        self._injector.faults_left += self.planned
        for payment in met:
            self._injector.at(begin + payment.at + RETRY_AFTER, partial(self._apply, payment))

    def _apply(self, payment: PlannedPayment) -> None:
        if self._kill_at_credit(payment):
            self._injector.faults_left -= 1
        else:
            self._injector.after(RETRY_AFTER, partial(self._apply, payment))

    def _kill_at_credit(self, payment: PlannedPayment) -> bool:
        """Pays and kills; False if it cannot be done now."""
        order, company = self._payers.order_id(payment), self._payers.account.company_id
        if order is None or payment.lock is None or not self._stack.web.is_ready():
            return False
        params = {"gateway": payment.gateway, "order": order, "company": company}
        try:
            with psycopg.connect(self._stack.postgres.url, connect_timeout=2) as session:
                session.execute("SET LOCAL lock_timeout = '1s'")
                session.execute(_SQL[payment.lock].text.encode(), params)
                self._payers.pay_soon(payment)
                self.hits += _is_awaited(session)
                for program in (self._stack.web, self._stack.worker, self._stack.second_worker):
                    self._injector.kill_now(program, payment.pause)
                self._injector.kills.update([Target.WEB, Target.WORKER])
        except psycopg.OperationalError:
            # If the connection broke after the payment, it becomes an ordinary one.
            return payment.key in self._payers.paid
        return True


def _is_awaited(session: psycopg.Connection[Any]) -> bool:
    """Whether another session waits for this one's lock, within MAX_WAIT seconds."""
    deadline = time.monotonic() + MAX_WAIT
    while time.monotonic() < deadline:
        row = session.execute(_SQL["waiting"].text.encode()).fetchone()
        if row and row[0]:
            return True
        time.sleep(0.01)
    return False


def findings(
    paid: Collection[str], placed: int, *, refused: Collection[str], hits: int, planned: int
) -> Iterator[Finding]:
    """`paid`: ids of the paid orders; `placed`: the number of requested top-ups."""
    orders = select(_SQL["orders"].text)
    wrong = [f"{key}: a credit without an order" for (key,) in select(_SQL["strange"].text)]
    wrong += [fault for order in orders if (fault := _fault_of(*order, is_paid=order[0] in paid))]
    wrong += [f"{order}: paid, and unknown" for order in sorted(set(paid) - {o[0] for o in orders})]
    wrong += [f"{order}: refused" for order in refused]
    if len(orders) != placed:
        wrong.append(f"{len(orders)} orders for {placed} top-ups")
    yield Finding("credits", "every paid order is credited exactly once", wrong)
    missed = [] if hits or not planned else [f"none of {planned} credits was met"]
    yield Finding("credit kills", "processes were killed between webhook and credit", missed)


def _fault_of(name: str, *row: Any, is_paid: bool) -> str:
    gateway, state, tokens, payments, transfers, credited = row
    facts = (payments, transfers, credited, state == "paid")
    if facts == (is_paid, is_paid, is_paid * tokens, is_paid):
        return ""
    outcome = "paid" if is_paid else "not paid"
    return (
        f"{name} by {gateway}: {outcome}, {state}, {payments} payments and"
        f" {transfers} transfers of {credited} of {tokens} tokens"
    )
