"""Celery's part: hints and housekeeping. The database says what is due."""

from celery import shared_task

from accounts import post_office
from accounts.callbacks import deliveries
from accounts.callbacks.courier import courier


@shared_task(name="accounts.deliver_callbacks")
def deliver_callbacks() -> None:
    """The safety tick: the same round the courier makes, unless it is making one."""
    courier().tick()


@shared_task(name="accounts.call_off_callbacks")
def call_off_callbacks() -> None:
    deliveries.call_off()


@shared_task(name="accounts.deliver_mail")
def deliver_mail() -> None:
    post_office.deliver()
