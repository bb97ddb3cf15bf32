"""Periodic tasks."""

from celery import shared_task

from otp import usual_spending


@shared_task(name="otp.refresh_budgets")
def refresh_budgets() -> None:
    usual_spending.refresh()
