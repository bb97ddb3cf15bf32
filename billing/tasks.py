"""Periodic tasks."""

from functools import partial

from celery import shared_task

from accounts.jobs import RoundRobin
from billing.bank_statements import reading
from billing.documents import issuing, month_closing
from billing.gateways.declarations import GATEWAYS
from billing.orders import auto_top_up, method_saving, orders, polling
from billing.seals import sealing
from billing.wallet import balance_alerts

KINDS = (polling.poll_next, auto_top_up.pay_next, method_saving.save_next_method)
PROVIDERS = RoundRobin(
    lambda: bool(reading.read_due()),
    *(RoundRobin(*(partial(kind, name) for kind in KINDS)).step for name in GATEWAYS),
)


@shared_task(name="billing.expire_orders")
def expire_orders() -> None:
    orders.expire()


@shared_task(name="billing.call_payment_providers")
def call_payment_providers() -> None:
    PROVIDERS.run()


@shared_task(name="billing.send_low_balance_alerts")
def send_low_balance_alerts() -> None:
    balance_alerts.sweep_low_balances()
    balance_alerts.sweep()


@shared_task(name="billing.send_budget_alerts")
def send_budget_alerts() -> None:
    balance_alerts.sweep_budgets()


@shared_task(name="billing.seal_books")
def seal_books() -> None:
    sealing.seal()


@shared_task(name="billing.close_months")
def close_months() -> None:
    month_closing.close()


@shared_task(name="billing.issue_documents")
def issue_documents() -> None:
    issuing.issue()


@shared_task(name="billing.top_up_automatically")
def top_up_automatically() -> None:
    auto_top_up.write_due()
    PROVIDERS.run()
