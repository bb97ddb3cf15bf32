"""The Celery task that deletes companies. It takes no ids: the database says what is due."""

from celery import shared_task

from persons import company_deletion


@shared_task(name="persons.delete_companies")
def delete_companies() -> None:
    company_deletion.run()
