"""Celery tasks of webhooks. They take no ids: the database says what is due."""

from celery import shared_task

from webhooks import dispatcher, endpoints


@shared_task(name="webhooks.cancel_undeliverable")
def cancel_undeliverable() -> None:
    dispatcher.cancel_undeliverable()


@shared_task(name="webhooks.warn_of_failing")
def warn_of_failing() -> None:
    endpoints.warn_of_failing()
