"""A company gets one event per state of its messages, stored in the same commit."""

from datetime import UTC, datetime

import pytest
from django.db import connection, transaction
from pytest_django import DjangoAssertNumQueries

from accounts.models import Company, Mode
from channels.lifecycle.state_machine import Event as Happening
from channels.lifecycle.state_machine import EventKind
from channels.models import Message
from channels.outcomes import transitions
from otp.check import settlement
from tests.api.clients import Api, ClientOf
from tests.channels.message_stages import PHONE, accepted, apply_event, send, submitted
from tests.factories import AttemptFactory, CompanyFactory, EndpointFactory
from tests.otp.sent_codes import code_of
from webhooks.models import Delivery, Event

LINK = {"link": "https://example.com/orders/77"}


@pytest.fixture(autouse=True)
def _endpoint(company: Company) -> None:
    EndpointFactory.create(company=company)


def event_kinds() -> list[str]:
    return list(Event.objects.order_by("created_at", "id").values_list("kind", flat=True))


def test_sent_and_delivered_emit_events(api: Api) -> None:
    attempt = accepted(api, **LINK)
    apply_event(attempt, EventKind.DELIVERED)

    message = Message.objects.get()
    assert sorted(event_kinds()) == ["message.delivered", "message.sent"]
    event = Event.objects.get(kind="message.delivered")
    assert (event.company, event.mode, event.key) == (api.company, "live", message.public_id)
    assert event.data == {
        "id": message.public_id,
        "kind": "code",
        "phone": PHONE,
        "channel": "whatsapp",
        "status": "delivered",
        "error": None,
        "cost": 1,
        "segments": None,
        "short_url": message.params["short_url"],
        "locale": "ru",
        "door": None,
        "test": False,
        "request_id": message.request_id,
        "reference": None,
        "metadata": None,
        "created_at": _text(message.created_at),
        "sent_at": _text(message.sent_at),
        "delivered_at": _text(message.delivered_at),
        "finished_at": _text(message.finished_at),
    }


def _text(at: datetime | None) -> str:
    assert at is not None
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@pytest.mark.parametrize(
    ("what", "kind", "error"),
    [
        (EventKind.UNREACHABLE, "message.failed", "recipient_unreachable"),
        (EventKind.REFUSED, "message.failed", "delivery_failed"),
        (EventKind.GIVEN_UP, "message.expired", None),
    ],
)
def test_failure_and_expiry_emit_events(
    api: Api, what: EventKind, kind: str, error: str | None
) -> None:
    attempt = submitted(api)

    apply_event(attempt, what)

    event = Event.objects.get()
    assert (event.kind, event.data["error"]) == (kind, error)


def test_unclaimed_message_emits_an_event_on_expiry(api: Api) -> None:
    message = send(api)

    transitions.give_up([message.id])

    assert event_kinds() == ["message.expired"]


def test_repeats_and_read_receipts_emit_no_event(api: Api) -> None:
    attempt = accepted(api)
    delivered = Happening(attempt.message_id, attempt.id, EventKind.DELIVERED)
    transitions.commit_events([delivered])
    transitions.commit_events([delivered])
    apply_event(attempt, EventKind.READ)

    assert len(event_kinds()) == 2


def test_late_proof_emits_an_event_after_the_failure(api: Api) -> None:
    attempt = submitted(api)
    apply_event(attempt, EventKind.REFUSED)
    apply_event(attempt, EventKind.DELIVERED)

    assert sorted(event_kinds()) == ["message.delivered", "message.failed"]


def test_no_event_holds_the_code(api: Api) -> None:
    attempt = accepted(api, **LINK)
    code = code_of(PHONE)
    apply_event(attempt, EventKind.DELIVERED)
    api.post("/otp/verify", {"phone": PHONE, "code": code})
    settlement.settle_verified()

    kept = [str(event.data) for event in Event.objects.all()]
    assert len(kept) == 3
    assert not [text for text in kept if f"'{code}'" in text]


def test_entered_code_emits_an_event_when_it_settles(api: Api) -> None:
    accepted(api)
    response = api.post("/otp/verify", {"phone": PHONE, "code": code_of(PHONE), "purpose": None})
    verified = response.body
    assert "otp.verified" not in event_kinds()

    settlement.settle_verified()
    settlement.settle_verified()

    event = Event.objects.get(kind="otp.verified")
    assert event.key == verified["id"]
    assert event.data == {
        "id": verified["id"],
        "phone": PHONE,
        "purpose": "verification",
        "test": False,
        "door": None,
        "reference": None,
        "metadata": None,
        "verified_at": event.data["verified_at"],
    }
    assert datetime.fromisoformat(event.data["verified_at"]) == event.at


def test_test_messages_notify_test_endpoints(company: Company, client_of: ClientOf) -> None:
    EndpointFactory.create(company=company, mode=Mode.TEST)

    accepted(client_of(company, Mode.TEST))

    event = Event.objects.get()
    assert (event.mode, event.data["test"]) == ("test", True)
    assert event.deliveries.get().endpoint.mode == "test"


def test_group_notifies_each_company_of_its_own_messages(api: Api, company: Company) -> None:
    attempts = [
        AttemptFactory.create(message__company=sender, message__tries=1, state="submitting")
        for sender in [company, company, CompanyFactory.create()]
    ]

    transitions.commit_events(
        [Happening(attempt.message_id, attempt.id, EventKind.ACCEPTED) for attempt in attempts]
    )

    mine = Event.objects.filter(company=company)
    assert mine.count() == Event.objects.count() == Delivery.objects.count() == 2


@pytest.mark.parametrize(("endpoints", "statements"), [(0, 4), (1, 5), (3, 5)])
def test_events_cost_one_statement_if_an_endpoint_subscribes(
    api: Api,
    company: Company,
    endpoints: int,
    statements: int,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    company.endpoints.all().delete()
    EndpointFactory.create_batch(endpoints, company=company)
    attempt = submitted(api)

    with transaction.atomic(), django_assert_num_queries(statements), connection.cursor() as cursor:
        transitions.apply_in_transaction(
            cursor, [Happening(attempt.message_id, attempt.id, EventKind.ACCEPTED)]
        )

    assert Delivery.objects.count() == endpoints
