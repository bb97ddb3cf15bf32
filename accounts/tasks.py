"""Celery tasks for e-mail. They take no ids: the database says what is due."""

from celery import shared_task

from accounts.outbox import mail


@shared_task(name="accounts.deliver_mail")
def deliver_mail() -> None:
    mail.deliver()
