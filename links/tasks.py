"""Celery tasks that read the stream of clicks."""

from celery import shared_task

from links.clicks import counting, delivery_proof, webhooks
from links.clicks.stream import READ_COUNT


@shared_task(name="links.append_click_events")
def append_click_events() -> None:
    while webhooks.append_click_events() == READ_COUNT:
        pass


@shared_task(name="links.prove_clicks")
def prove_clicks() -> None:
    while delivery_proof.prove_clicks() == READ_COUNT:
        pass


@shared_task(name="links.count_clicks")
def count_clicks() -> None:
    while counting.count_clicks() == READ_COUNT:
        pass
