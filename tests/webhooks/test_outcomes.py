"""Outcomes of a delivery: signature, retries and disabling of its endpoint."""

import time
from collections.abc import Callable
from uuid import uuid4

import orjson
import pytest
from django.utils import timezone
from django.utils.http import http_date

from accounts.models import AuditEvent, Company, Mail, Member
from tests.factories import DeliveryFactory, MemberFactory
from tests.webhooks.receivers import Receiver
from tests.webhooks.rounds import make_due, run_out, run_round, wait_of
from webhooks import deliveries, dispatcher, endpoints, http_call
from webhooks.events import declaration_of
from webhooks.http_call import RETRY_DELAYS
from webhooks.models import Delivery, Endpoint, EventKind

NOBODY = "http://127.0.0.1:9/hook"


def test_event_arrives_signed(delivery: Delivery, endpoint: Endpoint, receiver: Receiver) -> None:
    run_round()

    (call,) = receiver.calls
    assert call.verified(endpoints.secret_of(endpoint)) == {
        "id": delivery.event.public_id,
        "type": "message.delivered",
        "timestamp": call.json["timestamp"],
        "data": {"id": "msg_1", "имя": "Ромашка"},
    }
    assert call.json["timestamp"].endswith("Z")
    assert call.id == delivery.event.public_id
    assert call.headers["content-type"] == "application/json"


@pytest.mark.parametrize("kind", EventKind)
def test_fields_arrive_in_the_order_of_the_documentation(kind: EventKind) -> None:
    """`jsonb` would sort the names by their length."""
    example = declaration_of(kind).example(kind, "0" * 32, timezone.now())
    stored = dict(sorted(example.items(), key=lambda item: (len(item[0]), item[0]))) | {"new": 1}

    body = http_call.body_of(uuid4(), kind, timezone.now(), orjson.dumps(stored).decode())

    declared = [field.name for field in declaration_of(kind).data]
    names = list(orjson.loads(body)["data"])
    assert names == [*(name for name in declared if name in example), "new"]


def test_success_is_recorded(delivery: Delivery, endpoint: Endpoint, receiver: Receiver) -> None:
    receiver.response = b"thanks"
    run_round()

    delivery.refresh_from_db()
    endpoint.refresh_from_db()
    attempt = delivery.attempts.get()
    assert (delivery.state, delivery.due_at, delivery.tries) == ("delivered", None, 1)
    assert delivery.finished_at is not None
    assert (attempt.status, attempt.response, attempt.error) == (200, "thanks", "")
    signed = {"webhook-id", "webhook-timestamp", "webhook-signature"}
    assert attempt.headers.keys() == {"Content-Type", "User-Agent"} | signed
    assert attempt.headers["webhook-id"] == delivery.event.public_id
    assert endpoint.last_success_at is not None


@pytest.mark.parametrize("status", [301, 302, 307, 400, 404, 500, 503])
def test_error_status_is_retried(delivery: Delivery, receiver: Receiver, status: int) -> None:
    receiver.status = status
    receiver.headers = {"Location": "/elsewhere"}
    run_round()

    assert RETRY_DELAYS[0] * 0.5 - 1 < wait_of(delivery) < RETRY_DELAYS[0] * 1.5
    assert delivery.state == "pending"
    assert delivery.attempts.get().status == status
    make_due(delivery)
    receiver.status = 204
    run_round()

    delivery.refresh_from_db()
    assert (delivery.state, delivery.tries) == ("delivered", 2)
    first, second = receiver.calls
    assert (first.id, first.body) == (second.id, second.body)


def test_retries_stretch_over_more_than_a_day_and_end(company: Company) -> None:
    delivery = DeliveryFactory.create(endpoint__company=company, endpoint__url=NOBODY)
    waits = []

    for _ in RETRY_DELAYS:
        make_due(delivery)
        run_round()
        waits.append(wait_of(delivery))
    make_due(delivery)
    run_round()

    delivery.refresh_from_db()
    assert (delivery.state, delivery.due_at, delivery.tries) == ("failed", None, 8)
    for wait, base in zip(waits, RETRY_DELAYS, strict=True):
        assert base * 0.5 - 2 < wait < base * 1.5
    assert sum(RETRY_DELAYS) > 24 * 3600


def test_endpoint_failing_for_a_day_is_disabled(company: Company) -> None:
    owner = MemberFactory.create(company=company)
    developer = MemberFactory.create(company=company, role=Member.Role.DEVELOPER)
    MemberFactory.create(company=company, role=Member.Role.ACCOUNTANT)
    delivery = DeliveryFactory.create(endpoint__company=company, endpoint__url=NOBODY)
    other = DeliveryFactory.create(endpoint=delivery.endpoint)

    run_out(delivery)
    dispatcher.cancel_undeliverable()

    endpoint = Endpoint.objects.get()
    other.refresh_from_db()
    assert (endpoint.is_enabled, endpoint.disabled_reason) == (False, "failing")
    assert (other.state, other.due_at) == ("failed", None)
    assert set(Mail.objects.values_list("to", flat=True)) == {
        owner.user.email,
        developer.user.email,
    }
    assert f"/cabinet/webhooks/{endpoint.public_id}" in Mail.objects.all()[0].text
    assert AuditEvent.objects.get().action == "webhook.gave_up"


def test_endpoint_with_a_recent_success_stays_enabled(
    delivery: Delivery, endpoint: Endpoint, receiver: Receiver
) -> None:
    receiver.status = 500
    for _ in RETRY_DELAYS:
        make_due(delivery)
        run_round()
    receiver.status = 200
    DeliveryFactory.create(endpoint=endpoint)
    run_round()
    receiver.status = 500

    make_due(delivery)
    run_round()

    delivery.refresh_from_db()
    endpoint.refresh_from_db()
    assert (delivery.state, endpoint.is_enabled, Mail.objects.count()) == ("failed", True, 0)


def test_status_410_disables_the_endpoint(
    delivery: Delivery, endpoint: Endpoint, receiver: Receiver
) -> None:
    MemberFactory.create(company=endpoint.company)
    receiver.status = 410

    run_round()

    endpoint.refresh_from_db()
    delivery.refresh_from_db()
    assert (endpoint.is_enabled, endpoint.disabled_reason) == (False, "gone")
    assert (delivery.state, delivery.attempts.get().status) == ("failed", 410)
    assert "410 Gone" in Mail.objects.get().text


@pytest.mark.parametrize("change", ["url", "deleted_at"])
def test_call_of_a_former_url_does_not_affect_the_endpoint(
    delivery: Delivery, endpoint: Endpoint, receiver: Receiver, change: str
) -> None:
    MemberFactory.create(company=endpoint.company)
    receiver.status = 410
    (claimed,) = dispatcher.claim(1)
    outcome = http_call.call(claimed)
    Endpoint.objects.update(**{change: NOBODY if change == "url" else timezone.now()})

    dispatcher.record([outcome])

    endpoint.refresh_from_db()
    assert (endpoint.is_enabled, endpoint.failing_since, Mail.objects.count()) == (True, None, 0)


def test_replay_during_the_last_try_outlives_it(
    delivery: Delivery, endpoint: Endpoint, receiver: Receiver
) -> None:
    member = MemberFactory.create(company=endpoint.company)
    Delivery.objects.update(tries=len(RETRY_DELAYS))
    receiver.status = 500
    (claimed,) = dispatcher.claim(1)
    outcome = http_call.call(claimed)

    deliveries.replay(delivery=delivery, user=member.user)
    dispatcher.record([outcome])

    delivery.refresh_from_db()
    assert (outcome.is_last, delivery.state, delivery.tries) == (True, "pending", 0)
    assert delivery.due_at is not None


def test_failing_since_is_reset_by_a_success(
    delivery: Delivery, endpoint: Endpoint, receiver: Receiver
) -> None:
    receiver.status = 500
    run_round()
    endpoint.refresh_from_db()
    failing_since = endpoint.failing_since
    make_due(delivery)
    run_round()
    endpoint.refresh_from_db()
    assert failing_since is not None
    assert endpoint.failing_since == failing_since

    receiver.status = 200
    make_due(delivery)
    run_round()

    endpoint.refresh_from_db()
    assert endpoint.failing_since is None


@pytest.mark.parametrize(
    ("status", "retry_after", "seconds"),
    [
        (429, "120", 120),
        (503, " 600 ", 600),
        (503, "9" * 400, http_call.MAX_RETRY_AFTER),
        (429, "86400", http_call.MAX_RETRY_AFTER),
        (503, lambda: http_date(time.time() + 300), 300),
        (503, lambda: http_date(time.time() + 10 * 86_400), http_call.MAX_RETRY_AFTER),
        (503, lambda: http_date(time.time() - 300), 0),
        (503, lambda: http_date(time.time() + 300).replace("GMT", "+0000"), 300),
        (
            503,
            lambda: time.strftime("%A, %d-%b-%y %H:%M:%S GMT", time.gmtime(time.time() + 300)),
            300,
        ),
        (503, lambda: time.asctime(time.gmtime(time.time() + 300)), 300),
        (503, "Mon, 01 Jan 99999 00:00:00 GMT", 0),
        (429, "-5", 0),
        (429, "1.5", 0),
        (429, "soon", 0),
        (429, "٣", 0),
        (500, "120", 0),  # says nothing there
    ],
)
def test_busy_receiver_is_called_again_when_it_asks(
    delivery: Delivery,
    receiver: Receiver,
    status: int,
    retry_after: str | Callable[[], str],
    seconds: float,
) -> None:
    receiver.status = status
    text = retry_after if isinstance(retry_after, str) else retry_after()
    receiver.headers = {"Retry-After": text.encode("latin-1", "replace").decode("latin-1")}
    (outcome,) = run_round()

    shortest = RETRY_DELAYS[0] * 0.5
    longest = RETRY_DELAYS[0] * 1.5
    assert outcome.due_in is not None
    assert max(seconds - 3, shortest) <= outcome.due_in <= max(seconds, longest)
    assert abs(wait_of(delivery) - outcome.due_in) < 5


def test_longer_pause_is_not_cut_short(delivery: Delivery, receiver: Receiver) -> None:
    """Otherwise a busy receiver would use up its tries within a minute."""
    Delivery.objects.filter(pk=delivery.pk).update(tries=2)
    receiver.status = 429
    receiver.headers = {"Retry-After": "1"}

    (outcome,) = run_round()

    assert outcome.due_in is not None
    assert outcome.due_in >= RETRY_DELAYS[2] * 0.5
