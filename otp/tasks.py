"""Celery's part: what time brings about."""

from celery import shared_task

from otp import spending


@shared_task(name="otp.refresh_budgets")
def refresh_budgets() -> None:
    spending.refresh()
