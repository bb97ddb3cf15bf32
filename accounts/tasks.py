"""Celery's part: hints and housekeeping. The database says what is due."""

from celery import shared_task

from accounts.outbox import mail_delivery
from accounts.webhooks import deliveries
from accounts.webhooks.dispatcher import courier


@shared_task(name="accounts.deliver_webhooks")
def deliver_webhooks() -> None:
    """The safety tick: the same round the courier makes, unless it is making one."""
    courier().tick()


@shared_task(name="accounts.cancel_webhooks")
def cancel_webhooks() -> None:
    deliveries.call_off()


@shared_task(name="accounts.deliver_mail")
def deliver_mail() -> None:
    mail_delivery.deliver()
