"""Celery tasks. They take no ids: the database says what is due."""

from celery import shared_task

from persons import company_deletion, company_export


@shared_task(name="persons.delete_companies")
def delete_companies() -> None:
    company_deletion.run()


@shared_task(name="persons.make_company_exports")
def make_company_exports() -> None:
    while company_export.make_next():
        pass
