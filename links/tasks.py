"""Celery's part: hints and housekeeping."""

from celery import shared_task

from links import counting, proving, telling
from links.stream import ENTRIES


@shared_task(name="links.tell_clicks")
def tell_clicks() -> None:
    while telling.tell_clicks() == ENTRIES:
        pass


@shared_task(name="links.prove_clicks")
def prove_clicks() -> None:
    while proving.prove_clicks() == ENTRIES:
        pass


@shared_task(name="links.count_clicks")
def count_clicks() -> None:
    while counting.count_clicks() == ENTRIES:
        pass
