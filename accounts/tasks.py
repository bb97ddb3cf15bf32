"""Celery tasks of the outboxes. They take no ids: the database says what is due."""

from celery import shared_task

from accounts.outbox import mail_delivery
from accounts.webhooks import deliveries, endpoints


@shared_task(name="accounts.cancel_webhooks")
def cancel_webhooks() -> None:
    deliveries.cancel_undeliverable()


@shared_task(name="accounts.deliver_mail")
def deliver_mail() -> None:
    mail_delivery.deliver()


@shared_task(name="accounts.warn_of_failing_webhooks")
def warn_of_failing_webhooks() -> None:
    endpoints.warn_of_failing()
