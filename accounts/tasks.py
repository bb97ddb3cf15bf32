"""Celery tasks of the outboxes. They take no ids: the database says what is due."""

from celery import shared_task

from accounts.outbox import mail_delivery
from accounts.webhooks import deliveries
from accounts.webhooks.dispatcher import webhook_dispatcher


@shared_task(name="accounts.deliver_webhooks")
def deliver_webhooks() -> None:
    """Runs a dispatcher round unless the worker's own loop is in one."""
    webhook_dispatcher().tick()


@shared_task(name="accounts.cancel_webhooks")
def cancel_webhooks() -> None:
    deliveries.cancel_undeliverable()


@shared_task(name="accounts.deliver_mail")
def deliver_mail() -> None:
    mail_delivery.deliver()
