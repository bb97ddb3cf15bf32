"""Celery tasks for e-mail and files. They take no ids: the database says what is due."""

from celery import shared_task

from accounts.jobs import FILES
from accounts.outbox import mail


@shared_task(name="accounts.deliver_mail")
def deliver_mail() -> None:
    mail.deliver()


@shared_task(name="accounts.make_files")
def make_files() -> None:
    FILES.run()
