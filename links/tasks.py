"""Celery's part: hints and housekeeping."""

from celery import shared_task

from links import counting, telling


@shared_task(name="links.tell_clicks")
def tell_clicks() -> None:
    while telling.tell_clicks() == telling.ENTRIES:
        pass


@shared_task(name="links.count_clicks")
def count_clicks() -> None:
    while counting.count_clicks() == counting.ENTRIES:
        pass
