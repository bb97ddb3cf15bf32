"""Celery tasks. They take no ids: the database says what is due."""

from celery import shared_task

from accounts.jobs import FILES
from persons import company_deletion, company_export

FILES.add(company_export.make_next)


@shared_task(name="persons.delete_companies")
def delete_companies() -> None:
    company_deletion.run()


@shared_task(name="persons.make_company_exports")
def make_company_exports() -> None:
    FILES.run()
