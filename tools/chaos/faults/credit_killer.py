"""Kills web and workers while a credit waits between its notice and its commit.

A session of ours holds a lock that the credit needs, somebody pays, and once a session waits for us
everything that could be crediting is killed. Then the lock is given back. Each strike is one of the
planned kills of web and one of a worker.
"""

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import psycopg

from tools.chaos.faults.fault_injector import FaultInjector
from tools.chaos.payment_plan import CreditLock, PlannedPayment
from tools.chaos.plan import Target
from tools.chaos.stack import Stack
from tools.chaos.traffic.payers import Payers

RETRY_AFTER = 0.3  # seconds until it is tried again: the order is not placed, or a store is down
LONGEST_WAIT = 5.0  # for the notice; the bank's statement is read every five seconds
LOCKS = {
    CreditLock.GATEWAY: "SELECT pg_advisory_xact_lock(hashtext('gateway:' || %(gateway)s))",
    CreditLock.ORDER: "SELECT FROM billing_order WHERE id = %(order)s FOR UPDATE",
    CreditLock.WALLET: "SELECT FROM billing_wallet WHERE company_id = %(company)s FOR UPDATE",
}
WAITING = """
SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))
"""


class CreditKiller:
    def __init__(self, stack: Stack, injector: FaultInjector, payers: Payers) -> None:
        self.hits = 0  # credits that waited when everything around them was killed
        self.planned = 0
        self._stack, self._injector, self._payers = stack, injector, payers

    def plan(self, begin: float, payments: Sequence[PlannedPayment]) -> None:
        """After the injector's own plan, to which it adds."""
        struck = [payment for payment in payments if payment.lock]
        self.planned = len(struck)
        self._injector.faults_left += self.planned
        for payment in struck:
            self._injector.at(begin + payment.at + RETRY_AFTER, partial(self._apply, payment))

    def _apply(self, payment: PlannedPayment) -> None:
        if self._strike(payment):
            self._injector.faults_left -= 1
        else:
            self._injector.after(RETRY_AFTER, partial(self._apply, payment))

    def _strike(self, payment: PlannedPayment) -> bool:
        """False if it cannot be done now."""
        order = self._payers.order_id(payment)
        if order is None or payment.lock is None or not self._stack.web.is_ready():
            return False
        params = {
            "gateway": payment.gateway,
            "order": order,
            "company": self._payers.account.company_id,
        }
        try:
            with psycopg.connect(self._stack.postgres.url, connect_timeout=2) as session:
                session.execute("SET LOCAL lock_timeout = '1s'")
                session.execute(LOCKS[payment.lock], params)
                self._payers.pay_soon(payment)
                self.hits += _is_awaited(session)
                self._kill(payment.pause)
        except psycopg.OperationalError:
            # The money is on its way if it was lost after that: then it is a payment as any other.
            return payment.key in self._payers.paid
        return True

    def _kill(self, pause: float) -> None:
        stack = self._stack
        programs = (stack.web, stack.worker, stack.second_worker)
        for program in programs:
            self._injector.kill_now(program, pause)
        self._injector.kills.update([Target.WEB, Target.WORKER])


def _is_awaited(session: psycopg.Connection[Any]) -> bool:
    """Whether somebody waits for what this session holds; waits for that a while."""
    deadline = time.monotonic() + LONGEST_WAIT
    while time.monotonic() < deadline:
        row = session.execute(WAITING).fetchone()
        if row and row[0]:
            return True
        time.sleep(0.01)
    return False
