"""Old rows of the event queues are purged, in batches."""

from datetime import timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from accounts import purges
from accounts.models import Company, Mail
from accounts.outbox import mail
from tests.factories import DeliveryFactory, EndpointFactory
from webhooks.models import Delivery, DeliveryAttempt, Endpoint, Event

MONTH = timedelta(days=30, seconds=1)


@pytest.fixture
def delivery(company: Company) -> Delivery:
    delivery = DeliveryFactory.create(endpoint__company=company)
    DeliveryAttempt.objects.create(
        delivery=delivery, started_at=timezone.now(), duration_ms=5, status=200
    )
    mail.append(template="t", to="person@example.com", subject="s", text="t")
    return delivery


def test_month_old_rows_are_purged(delivery: Delivery) -> None:
    young = DeliveryFactory.create(endpoint=delivery.endpoint)
    Event.objects.filter(pk=delivery.event_id).update(created_at=F("created_at") - MONTH)
    Mail.objects.update(created_at=F("created_at") - MONTH)

    purges.purge()

    assert list(Delivery.objects.all()) == [young]
    assert (Event.objects.count(), DeliveryAttempt.objects.count()) == (1, 0)
    assert not Mail.objects.exists()
    assert Endpoint.objects.count() == 1


def test_recent_rows_are_not_purged(delivery: Delivery) -> None:
    almost = timedelta(days=30) - timedelta(minutes=1)
    Event.objects.update(created_at=F("created_at") - almost)
    Mail.objects.update(created_at=F("created_at") - almost)

    purges.purge()

    assert (Event.objects.count(), DeliveryAttempt.objects.count(), Mail.objects.count()) == (
        1,
        1,
        1,
    )


def test_deleted_endpoint_is_purged_after_its_deliveries(delivery: Delivery) -> None:
    EndpointFactory.create(company=delivery.endpoint.company)
    old = timezone.now() - MONTH
    Endpoint.objects.filter(pk=delivery.endpoint_id).update(deleted_at=old)

    purges.purge()
    kept = Endpoint.objects.count()
    Event.objects.update(created_at=F("created_at") - MONTH)
    purges.purge()

    assert (kept, Endpoint.objects.count()) == (2, 1)


def test_purge_works_in_batches(company: Company) -> None:
    endpoint = EndpointFactory.create(company=company)
    DeliveryFactory.create_batch(7, endpoint=endpoint)
    Event.objects.update(created_at=F("created_at") - MONTH)
    batch, purges.BATCH_SIZE = purges.BATCH_SIZE, 3
    try:
        purged = purges.purge()
    finally:
        purges.BATCH_SIZE = batch

    assert (purged, Event.objects.count()) == (7, 0)
