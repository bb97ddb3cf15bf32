"""Celery's part: hints and housekeeping."""

from celery import shared_task

from links.clicks import counting, delivery_proof, webhooks
from links.clicks.stream import ENTRIES


@shared_task(name="links.tell_clicks")
def tell_clicks() -> None:
    while webhooks.tell_clicks() == ENTRIES:
        pass


@shared_task(name="links.prove_clicks")
def prove_clicks() -> None:
    while delivery_proof.prove_clicks() == ENTRIES:
        pass


@shared_task(name="links.count_clicks")
def count_clicks() -> None:
    while counting.count_clicks() == ENTRIES:
        pass
