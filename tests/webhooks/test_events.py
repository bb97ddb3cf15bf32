"""Events are stored for each endpoint that wants them."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from django.db import transaction
from pytest_django import DjangoAssertNumQueries

from accounts.models import Company, Mode
from tests.factories import EndpointFactory
from webhooks import events
from webhooks.models import Delivery, Endpoint, Event

WANTED: dict[str, Any] = {"kind": "message.delivered", "key": "msg_1", "data": {"id": "msg_1"}}


def emit(company: Company, **changes: Any) -> None:
    events.emit(**{"company_id": company.pk, "mode": Mode.LIVE, **WANTED, **changes})


def test_event_goes_to_each_endpoint_that_wants_it(company: Company) -> None:
    first, second = EndpointFactory.create_batch(2, company=company)
    EndpointFactory.create(company=company, kinds=["otp.verified"])

    emit(company)

    event = Event.objects.get()
    assert (event.kind, event.key) == ("message.delivered", "msg_1")
    assert event.data == {"id": "msg_1", "test": False}
    assert event.id.version == 7
    assert {delivery.endpoint for delivery in event.deliveries.all()} == {first, second}
    assert Delivery.objects.exclude(due_at=None).count() == 2


@pytest.mark.parametrize(
    "other",
    [
        {"mode": Mode.TEST},
        {"kinds": ["message.failed"]},
        {"disabled_at": datetime.now(UTC)},
        {"deleted_at": datetime.now(UTC)},
    ],
    ids=lambda other: next(iter(other)),
)
def test_event_without_a_subscriber_is_not_stored(company: Company, other: dict[str, Any]) -> None:
    EndpointFactory.create(**{"company": company} | other)

    emit(company)

    assert not Event.objects.exists()


def test_endpoint_of_another_company_gets_no_event(company: Company) -> None:
    EndpointFactory.create()

    emit(company)

    assert not Event.objects.exists()


def test_second_event_with_a_key_is_ignored(company: Company) -> None:
    EndpointFactory.create(company=company)
    EndpointFactory.create(company=company, mode=Mode.TEST)

    emit(company)
    emit(company)
    emit(company, mode=Mode.TEST)
    emit(company, kind="message.failed")

    assert sorted(Event.objects.values_list("mode", "kind")) == [
        ("live", "message.delivered"),
        ("live", "message.failed"),
        ("test", "message.delivered"),
    ]
    assert Delivery.objects.count() == 3


def test_rolled_back_transaction_leaves_no_event(company: Company) -> None:
    EndpointFactory.create(company=company)

    with transaction.atomic():
        emit(company)
        transaction.set_rollback(True)

    assert not Event.objects.exists()


def test_data_reads_as_in_the_api(company: Company) -> None:
    EndpointFactory.create(company=company)
    at = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)

    emit(company, at=at, data={"amount": Decimal("100.50"), "at": at, "name": "Ромашка"})

    event = Event.objects.get()
    assert event.at == at
    assert event.data == {
        "amount": "100.50",
        "at": "2026-11-20T12:30:00Z",
        "name": "Ромашка",
        "test": False,
    }


@pytest.mark.parametrize("endpoints", [0, 1, 5])
def test_emitting_uses_one_statement(
    company: Company, endpoints: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    EndpointFactory.create_batch(endpoints, company=company)

    with django_assert_num_queries(1):
        emit(company)

    assert Delivery.objects.count() == endpoints


@pytest.mark.django_db(transaction=True)
def test_dispatcher_wakes_after_the_commit_and_only_for_deliveries(company: Company) -> None:
    events.new_deliveries.clear()
    emit(company)
    told_of_nothing = events.new_deliveries.is_set()
    endpoint: Endpoint = EndpointFactory.create(company=company)

    with transaction.atomic():
        emit(endpoint.company)
        told_too_early = events.new_deliveries.is_set()

    assert (told_of_nothing, told_too_early, events.new_deliveries.is_set()) == (False, False, True)
    events.new_deliveries.clear()
