"""Every event is delivered at least once under one id, whatever fails."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import transaction
from django.test import override_settings
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import Company
from tests.api.blocking import locked_by_another
from tests.api.races import at_once
from tests.factories import DeliveryFactory, EndpointFactory
from tests.sql import execute
from tests.stack.programs import wait_until
from tests.webhooks.receivers import Receiver, listening
from tests.webhooks.rounds import claimed_ids, make_due, run_round, wait_of
from webhooks import deliveries, dispatcher, endpoints, events, http_call
from webhooks.dispatcher import MAX_CALLS_PER_COMPANY, MAX_CALLS_PER_ENDPOINT, WebhookDispatcher
from webhooks.http_call import CallOutcome
from webhooks.models import Delivery, DeliveryAttempt, Endpoint, Event, EventKind

NOBODY = "http://127.0.0.1:9/hook"


@pytest.mark.parametrize(
    "change", [{"disabled_at": timezone.now()}, {"deleted_at": timezone.now()}]
)
def test_endpoint_that_is_off_is_not_called(
    delivery: Delivery, endpoint: Endpoint, change: dict[str, object]
) -> None:
    Endpoint.objects.filter(pk=endpoint.pk).update(**change)

    assert dispatcher.claim(10) == []


def test_claim_passes_to_another_worker_only_after_its_lease(delivery: Delivery) -> None:
    first = claimed_ids()
    early = claimed_ids()
    make_due(delivery)

    assert (first, early, claimed_ids()) == ({delivery.pk}, set(), {delivery.pk})


def test_outcome_of_an_expired_claim_is_logged_but_not_applied(
    delivery: Delivery, receiver: Receiver
) -> None:
    (lost,) = dispatcher.claim(1)
    late = http_call.call(lost)
    make_due(delivery)
    receiver.status = 500
    run_round()

    dispatcher.record([late])

    delivery.refresh_from_db()
    assert (delivery.state, delivery.tries) == ("pending", 2)
    assert set(delivery.attempts.values_list("status", flat=True)) == {200, 500}
    assert len({call.id for call in receiver.calls}) == 1


def test_outcome_of_a_purged_delivery_is_dropped(delivery: Delivery) -> None:
    (claimed,) = dispatcher.claim(1)
    outcome = http_call.call(claimed)
    Event.objects.all().delete()

    dispatcher.record([outcome])

    assert not DeliveryAttempt.objects.exists()


def test_success_of_a_cancelled_delivery_is_recorded(
    delivery: Delivery, endpoint: Endpoint
) -> None:
    (claimed,) = dispatcher.claim(1)
    endpoints.disable(endpoint=endpoint, user=None)

    dispatcher.record([http_call.call(claimed)])

    delivery.refresh_from_db()
    assert (delivery.state, delivery.due_at) == ("delivered", None)


def test_failure_does_not_revive_a_cancelled_delivery(
    delivery: Delivery, endpoint: Endpoint, receiver: Receiver
) -> None:
    (claimed,) = dispatcher.claim(1)
    endpoints.disable(endpoint=endpoint, user=None)
    receiver.status = 500

    dispatcher.cancel_undeliverable()
    dispatcher.record([http_call.call(claimed)])

    delivery.refresh_from_db()
    assert (delivery.state, delivery.due_at) == ("failed", None)


@pytest.mark.parametrize(
    "change", [{"disabled_at": timezone.now()}, {"deleted_at": timezone.now()}]
)
def test_pending_deliveries_of_disabled_endpoints_are_cancelled(
    delivery: Delivery,
    endpoint: Endpoint,
    change: dict[str, object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dispatcher, "BATCH_SIZE", 2)
    Endpoint.objects.filter(pk=endpoint.pk).update(**change)
    DeliveryFactory.create_batch(4, endpoint=endpoint)
    other = DeliveryFactory.create()

    called_off = dispatcher.cancel_undeliverable(), dispatcher.cancel_undeliverable()

    assert called_off == (5, 0)
    assert set(Delivery.objects.filter(due_at=None).values_list("state", flat=True)) == {"failed"}
    assert Delivery.objects.get(state="pending") == other


def test_disabling_an_endpoint_does_not_touch_its_deliveries(
    delivery: Delivery, endpoint: Endpoint, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """A backlog of any size is not part of the transaction that disables the endpoint."""
    with django_assert_num_queries(6) as queries:
        endpoints.disable_automatically(
            Endpoint.objects.filter(pk=endpoint.pk), Endpoint.Reason.GONE
        )

    assert not [query for query in queries if "webhooks_delivery" in query["sql"]]


def test_missing_server_key_is_an_internal_error_and_retried(delivery: Delivery) -> None:
    with override_settings(WEBHOOK_KEYS={"other": b"x" * 32}):
        run_round()

    assert delivery.attempts.get().error == "internal"
    assert wait_of(delivery) > 0


def test_one_endpoint_and_one_company_leave_room_for_others(company: Company) -> None:
    flood = EndpointFactory.create(company=company)
    DeliveryFactory.create_batch(MAX_CALLS_PER_ENDPOINT + 3, endpoint=flood)
    for _ in range(MAX_CALLS_PER_COMPANY):
        DeliveryFactory.create(endpoint__company=company)
    other = DeliveryFactory.create()

    claimed = dispatcher.claim(32)

    of_flood = [delivery for delivery in claimed if delivery.endpoint_id == flood.pk]
    of_company = [delivery for delivery in claimed if delivery.company_id == company.pk]
    assert (len(of_flood), len(of_company)) == (MAX_CALLS_PER_ENDPOINT, MAX_CALLS_PER_COMPANY)
    assert other.pk in {delivery.delivery_id for delivery in claimed}


@pytest.mark.parametrize("kind", sorted(set(EventKind) - {EventKind.LINK_CLICKED}))
def test_waiting_clicks_do_not_delay_other_events(endpoint: Endpoint, kind: EventKind) -> None:
    """A visitor who opens links all day long delays only the events of clicks."""
    Endpoint.objects.update(kinds=EventKind.values)
    of_endpoint: dict[str, Any] = {
        "company_id": endpoint.company_id,
        "mode": endpoint.mode,
        "data": {},
    }
    for number in range(MAX_CALLS_PER_COMPANY + 1):
        events.emit(kind=EventKind.LINK_CLICKED, key=f"click:{number}", **of_endpoint)
    Delivery.objects.update(due_at=timezone.now() - timedelta(hours=1))
    events.emit(kind=kind, key="late", **of_endpoint)

    claimed = [delivery.kind for delivery in dispatcher.claim(MAX_CALLS_PER_ENDPOINT)]

    assert claimed.count("link.clicked") == MAX_CALLS_PER_ENDPOINT - 1
    assert kind in claimed  # wherever: the database returns them in any order


def test_calls_under_way_count_towards_the_share(company: Company) -> None:
    flood = EndpointFactory.create(company=company)
    DeliveryFactory.create_batch(2 * MAX_CALLS_PER_ENDPOINT, endpoint=flood)

    busy = dispatcher.claim(MAX_CALLS_PER_ENDPOINT - 1)
    more = dispatcher.claim(32, busy)

    assert (len(busy), len(more)) == (MAX_CALLS_PER_ENDPOINT - 1, 1)
    assert dispatcher.claim(32, [*busy, *more]) == []


def test_company_with_the_fewest_calls_comes_first(company: Company) -> None:
    floods = [EndpointFactory.create() for _ in range(4)]
    for flood in floods:
        DeliveryFactory.create_batch(MAX_CALLS_PER_ENDPOINT, endpoint=flood)
    busy = dispatcher.claim(4 * (MAX_CALLS_PER_ENDPOINT - 1))
    late = DeliveryFactory.create(endpoint__company=company)

    (claimed,) = dispatcher.claim(1, busy)

    assert claimed.delivery_id == late.pk
    assert {call.company_id for call in busy} == {call.company_id for call in floods}


def test_failing_endpoint_is_called_once_at_a_time(endpoint: Endpoint) -> None:
    Endpoint.objects.update(failing_since=timezone.now())
    DeliveryFactory.create_batch(3, endpoint=endpoint)

    busy = dispatcher.claim(32)

    assert (len(busy), dispatcher.claim(32, busy)) == (1, [])


def test_suspended_company_is_not_called(delivery: Delivery, company: Company) -> None:
    company.status = Company.Status.SUSPENDED
    company.save()

    assert dispatcher.claim(10) == []


def test_in_flight_delivery_is_not_claimed_again(delivery: Delivery) -> None:
    busy = dispatcher.claim(10)
    make_due(delivery)

    assert (len(busy), dispatcher.claim(10, busy)) == (1, [])


def test_undeliverable_backlog_costs_one_query(
    delivery: Delivery, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    Endpoint.objects.update(disabled_at=timezone.now())

    with django_assert_num_queries(1):
        dispatcher.claim(10)


@pytest.mark.django_db(transaction=True)
def test_claim_locks_only_claimed_rows(endpoint: Endpoint) -> None:
    DeliveryFactory.create_batch(3, endpoint=endpoint)

    with transaction.atomic():
        mine = dispatcher.claim(1)
        (others,) = at_once([lambda: dispatcher.claim(10)])

    assert (len(mine), len(others)) == (1, 2)


@pytest.mark.django_db(transaction=True)
def test_parallel_dispatchers_claim_each_delivery_once(company: Company) -> None:
    made = [DeliveryFactory.create() for _ in range(40)]

    result = at_once([lambda: dispatcher.claim(20)] * 4)

    ids = [delivery.delivery_id for claimed in result for delivery in claimed]
    assert len(ids) == len(set(ids)) == len(made)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("status", "response"), [(99_999, ""), (200, "\ud800"), (200, "\0")])
def test_unwritable_outcome_does_not_block_others(
    company: Company, status: int, response: str
) -> None:
    made = DeliveryFactory.create_batch(3, endpoint__company=company)
    webhook_dispatcher = WebhookDispatcher()
    for claimed in dispatcher.claim(3):
        facts = (status, response) if claimed.delivery_id == made[0].pk else (200, "")
        webhook_dispatcher.loop.add(
            CallOutcome(claimed, timezone.now(), status=facts[0], response=facts[1])
        )

    webhook_dispatcher.record()

    states = Delivery.objects.order_by("created_at").values_list("state", flat=True)
    assert sorted(states) == ["delivered", "delivered", "pending"]
    assert webhook_dispatcher.unwritten == []


@pytest.mark.django_db(transaction=True)
def test_locked_endpoint_does_not_block_other_calls(company: Company) -> None:
    held, other = DeliveryFactory.create_batch(2, endpoint__company=company)
    webhook_dispatcher = WebhookDispatcher()
    for claimed in dispatcher.claim(2):
        webhook_dispatcher.loop.add(CallOutcome(claimed, timezone.now(), status=200))
    waiting = DeliveryFactory.create(endpoint__url=NOBODY)

    lock = partial(Endpoint.objects.select_for_update().get, pk=held.endpoint_id)
    with locked_by_another(lock, timeout="200ms"):
        webhook_dispatcher.round()
    left = [outcome.claimed.delivery_id for outcome in webhook_dispatcher.postponed]
    webhook_dispatcher.loop.pool.shutdown(wait=True)
    webhook_dispatcher.postponed_until = 0.0
    webhook_dispatcher.record()

    assert left == [held.pk]
    assert waiting.attempts.exists()
    assert set(Delivery.objects.filter(state="delivered")) == {held, other}


@pytest.mark.django_db(transaction=True)
def test_running_dispatcher_calls_a_new_delivery_at_once(
    running_dispatcher: WebhookDispatcher, endpoint: Endpoint, receiver: Receiver
) -> None:
    events.emit(
        company_id=endpoint.company_id,
        mode="live",
        kind="otp.verified",
        data={"id": "otp_1"},
        key="otp_1",
    )

    (call,) = receiver.wait()
    assert call.verified(endpoints.secret_of(endpoint))["type"] == "otp.verified"


@pytest.mark.django_db(transaction=True)
@override_settings(WEBHOOK_TIMEOUT=4.0)
def test_hanging_receiver_does_not_delay_others(
    running_dispatcher: WebhookDispatcher, company: Company, receiver: Receiver
) -> None:
    with listening() as tarpit:
        tarpit.delay = 3.0
        hanging = EndpointFactory.create(company=company, url=tarpit.url)
        DeliveryFactory.create_batch(3 * MAX_CALLS_PER_ENDPOINT, endpoint=hanging)
        events.new_deliveries.set()
        tarpit.wait(MAX_CALLS_PER_ENDPOINT)
        deliveries.send_example(
            endpoint=EndpointFactory.create(url=receiver.url), kind="otp.verified"
        )

        receiver.wait(seconds=2.5)

        assert len(tarpit.calls) == MAX_CALLS_PER_ENDPOINT


@pytest.mark.django_db(transaction=True)
def test_dispatcher_survives_a_lost_database_connection(
    running_dispatcher: WebhookDispatcher, endpoint: Endpoint, receiver: Receiver
) -> None:
    deliveries.send_example(endpoint=endpoint, kind="otp.verified")
    receiver.wait(1)
    execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    deliveries.send_example(endpoint=endpoint, kind="otp.verified")

    receiver.wait(2)


@pytest.mark.django_db(transaction=True)
def test_stopped_dispatcher_records_the_calls_under_way(
    running_dispatcher: WebhookDispatcher, endpoint: Endpoint, receiver: Receiver
) -> None:
    receiver.delay = 0.5
    delivery = deliveries.send_example(endpoint=endpoint, kind="otp.verified")
    receiver.wait(1)

    running_dispatcher.stop()
    running_dispatcher.loop.pool.shutdown(wait=True)

    wait_until(lambda: Delivery.objects.get(pk=delivery.pk).state == "delivered")
