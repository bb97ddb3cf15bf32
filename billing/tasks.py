"""Periodic tasks."""

from celery import shared_task

from billing.bank_statements import reading
from billing.documents import issuing, month_closing
from billing.orders import auto_top_up, orders, polling
from billing.seals import sealing
from billing.wallet import balance_alerts


@shared_task(name="billing.expire_orders")
def expire_orders() -> None:
    orders.expire()


@shared_task(name="billing.poll_payments")
def poll_payments() -> None:
    while polling.poll() == polling.BATCH_SIZE:
        pass


@shared_task(name="billing.read_statement")
def read_statement() -> None:
    reading.read_due()


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
    auto_top_up.save_methods()
    auto_top_up.run()
