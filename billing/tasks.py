"""Periodic tasks."""

from celery import shared_task

from billing.budgets import mail
from billing.orders import orders
from billing.wallet import low_balance


@shared_task(name="billing.expire_orders")
def expire_orders() -> None:
    orders.expire()


@shared_task(name="billing.tell_low_balances")
def tell_low_balances() -> None:
    low_balance.sweep()


@shared_task(name="billing.tell_budgets")
def tell_budgets() -> None:
    mail.sweep()
