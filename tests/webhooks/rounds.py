"""Runs one dispatcher round step by step: claim, call, record."""

from datetime import timedelta
from uuid import UUID

from django.utils import timezone

from webhooks import dispatcher, http_call
from webhooks.http_call import CallOutcome
from webhooks.models import Delivery


def run_round(limit: int = 32) -> list[CallOutcome]:
    outcomes = [http_call.call(claimed) for claimed in dispatcher.claim(limit)]
    if outcomes:
        dispatcher.record(outcomes)
    return outcomes


def make_due(delivery: Delivery) -> None:
    Delivery.objects.filter(pk=delivery.pk).update(due_at=timezone.now() - timedelta(seconds=1))


def run_out(delivery: Delivery) -> None:
    """Runs every try of the retry schedule."""
    for _ in range(len(http_call.RETRY_DELAYS) + 1):
        make_due(delivery)
        run_round()


def claimed_ids(limit: int = 32) -> set[UUID]:
    return {delivery.delivery_id for delivery in dispatcher.claim(limit)}


def wait_of(delivery: Delivery) -> float:
    delivery.refresh_from_db()
    assert delivery.due_at is not None
    return (delivery.due_at - timezone.now()).total_seconds()
