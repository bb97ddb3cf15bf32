"""Events are applied with their money: once, in one commit, in batches of many companies."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import orjson
import pytest
from django.core.management import call_command
from django.db import IntegrityError
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from billing.models import Transfer
from billing.wallet import ledger
from billing.wallet.ledger import DeliveryProof
from catalogue.ids import uuid7
from channels.lifecycle.state_machine import Event, EventKind
from channels.models import Attempt, Message
from channels.outcomes import transitions
from channels.waiting import outcome_signals
from storage.redis_client import blocking_redis_client
from tests.api.clients import Api, ClientOf
from tests.api.races import at_once
from tests.channels.message_stages import accepted, apply_event, states, submitted
from tests.factories import CompanyFactory

AT = datetime(2026, 1, 31, 10, 0, tzinfo=UTC)


def transfers(message: Message) -> list[tuple[str, int, str, str]]:
    rows = Transfer.objects.filter(message_id=message.id).order_by("id")
    return [(row.kind, row.amount, row.proof, row.reason) for row in rows]


def test_acceptance_marks_the_message_sent_and_sets_its_poll(api: Api) -> None:
    attempt = submitted(api)

    apply_event(attempt, EventKind.ACCEPTED, provider_id="wamid.1", pollable=True)

    attempt = Attempt.objects.select_related("message").get()
    assert (attempt.state, attempt.provider_id, attempt.lease_until) == ("sent", "wamid.1", None)
    assert attempt.accepted_at is not None
    assert attempt.poll_at is not None
    assert attempt.poll_at - attempt.accepted_at == timedelta(seconds=10)
    assert (attempt.message.state, attempt.message.finished_at) == ("sent", None)
    assert attempt.message.sent_at is not None
    assert ledger.balance(api.company.pk) == (999, 1)


def test_message_delivered_at_once_is_not_polled(api: Api) -> None:
    attempt = submitted(api)

    transitions.commit_events(
        [
            Event(
                attempt.message_id, attempt.id, EventKind.ACCEPTED, provider_id="SM1", pollable=True
            ),
            Event(attempt.message_id, attempt.id, EventKind.DELIVERED, at=AT),
        ]
    )

    assert states(attempt) == ("delivered", "delivered")
    assert Attempt.objects.get().poll_at is None


def sent_before(moment: datetime) -> None:
    """As if the message had been made and handed over just before."""
    Message.objects.update(
        created_at=moment - timedelta(seconds=2), sent_at=moment - timedelta(seconds=1)
    )


def test_delivery_captures_the_held_tokens(api: Api) -> None:
    attempt = accepted(api, channel="sms")
    sent_before(AT)

    apply_event(attempt, EventKind.DELIVERED, at=AT)

    message = Message.objects.get()
    assert states(attempt) == ("delivered", "delivered")
    assert (message.delivered_at, message.read_at) == (AT, None)
    assert message.finished_at is not None
    assert transfers(message) == [("hold", 16, "", ""), ("capture", 16, "receipt", "")]
    assert ledger.balance(api.company.pk) == (984, 0)


@pytest.mark.parametrize(
    ("what", "state", "reason"),
    [
        (EventKind.UNREACHABLE, "failed", "failed"),
        (EventKind.REFUSED, "failed", "failed"),
        (EventKind.EXPIRED, "expired", "expired"),
        (EventKind.GIVEN_UP, "expired", "expired"),
    ],
)
def test_failure_releases_the_tokens(api: Api, what: EventKind, state: str, reason: str) -> None:
    attempt = accepted(api)

    apply_event(attempt, what, code="E1", detail="why")

    assert states(attempt) == (state, state)
    assert transfers(attempt.message)[1:] == [("release", 1, "", reason)]
    assert ledger.balance(api.company.pk) == (1000, 0)
    attempt.refresh_from_db()
    assert (attempt.error_class, attempt.error_code, attempt.error_detail) == (what, "E1", "why")


@pytest.mark.parametrize("hours", [-1, 1])
@pytest.mark.parametrize("is_sent", [True, False])
def test_times_stay_in_order_with_a_wrong_vendor_clock(
    api: Api, hours: int, *, is_sent: bool
) -> None:
    attempt = accepted(api)
    if not is_sent:  # the receipt overtook our own commit
        Message.objects.update(state="queued", sent_at=None)
    wrong = timezone.now() + timedelta(hours=hours)

    apply_event(attempt, EventKind.DELIVERED, at=wrong)
    apply_event(attempt, EventKind.READ, at=wrong)

    message = Message.objects.get()
    assert message.sent_at is not None
    assert message.delivered_at is not None
    assert message.read_at is not None
    times = [
        message.created_at,
        message.sent_at,
        message.delivered_at,
        message.read_at,
        timezone.now(),
    ]
    assert times == sorted(times)


def test_read_keeps_delivered_and_read_times(api: Api) -> None:
    attempt = accepted(api)
    sent_before(AT)
    later = AT + timedelta(minutes=1)

    apply_event(attempt, EventKind.DELIVERED, at=AT)
    apply_event(attempt, EventKind.READ, at=later)
    apply_event(attempt, EventKind.READ, at=later + timedelta(minutes=1))
    apply_event(attempt, EventKind.DELIVERED, at=later)

    message = Message.objects.get()
    assert (message.delivered_at, message.read_at) == (AT, later)
    assert ledger.balance(api.company.pk) == (999, 0)


def test_group_is_one_commit_for_many(
    client_of: ClientOf, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    apis = [client_of(CompanyFactory.create()) for _ in range(2)]
    for api in apis:
        ledger.grant(company=api.company, amount=50, reason="test")
    paid = [accepted(api, f"+7916123456{n}", channel="sms") for n, api in enumerate(apis)]
    free = [accepted(api, f"+7916123457{n}") for n, api in enumerate(apis)]
    events = [Event(attempt.message_id, attempt.id, EventKind.DELIVERED) for attempt in paid]
    events += [Event(attempt.message_id, attempt.id, EventKind.REFUSED) for attempt in free]

    with django_assert_num_queries(7):  # a savepoint and its end, then lock, read and three writes
        messages = transitions.commit_events(events)

    assert len(messages) == 4
    assert [ledger.balance(api.company.pk) for api in apis] == [(34, 0), (34, 0)]


def test_events_of_one_attempt_apply_in_one_group(api: Api) -> None:
    attempt = submitted(api)

    transitions.commit_events(
        [
            Event(attempt.message_id, attempt.id, EventKind.DELIVERED, at=AT),
            Event(attempt.message_id, attempt.id, EventKind.ACCEPTED, provider_id="wamid.1"),
            Event(attempt.message_id, attempt.id, EventKind.READ, at=AT),
            Event(attempt.message_id, attempt.id, EventKind.DELIVERED),
            Event(attempt.message_id, attempt.id, EventKind.REFUSED, code="x"),
        ]
    )

    assert states(attempt) == ("delivered", "delivered")
    assert ledger.balance(api.company.pk) == (999, 0)
    assert Attempt.objects.get().provider_id == "wamid.1"


def test_event_of_an_unknown_attempt_is_ignored(api: Api) -> None:
    assert transitions.commit_events([Event(uuid7(), uuid4(), EventKind.DELIVERED)]) == []
    assert transitions.commit_events([]) == []


def test_failed_group_is_rolled_back(api: Api) -> None:
    first, second = accepted(api), submitted(api, "+79161234568")

    with pytest.raises(IntegrityError):
        transitions.commit_events(
            [
                Event(first.message_id, first.id, EventKind.DELIVERED),
                Event(
                    second.message_id, second.id, EventKind.ACCEPTED, provider_id=first.provider_id
                ),
            ]
        )

    assert states(first) == ("sent", "sent")
    assert ledger.balance(api.company.pk) == (998, 2)


def test_retry_is_due_again_under_the_same_hold(api: Api) -> None:
    attempt = submitted(api)

    apply_event(attempt, EventKind.RETRY, code="timeout", retry_after=5.0)

    message = Message.objects.get()
    assert states(attempt) == ("failed", "queued")
    assert message.due_at is not None
    assert timedelta(seconds=3) < message.due_at - timezone.now() <= timedelta(seconds=5)
    assert ledger.balance(api.company.pk) == (999, 1)


def test_message_with_an_open_attempt_is_not_given_up(api: Api) -> None:
    attempt = submitted(api)

    assert transitions.give_up([attempt.message_id]) == []

    assert states(attempt) == ("submitting", "queued")


@pytest.fixture
def signals() -> Iterator[Any]:
    redis: Any = blocking_redis_client()
    with redis.pubsub(ignore_subscribe_messages=True) as subscription:
        subscription.subscribe(outcome_signals.PUBSUB_CHANNEL)
        subscription.get_message(timeout=1)
        yield subscription


def signal_fields(signals: Any) -> list[tuple[str, str, str, str, int]]:
    message = signals.get_message(timeout=0.1)
    return [tuple(signal) for signal in orjson.loads(message["data"])] if message else []


def test_outcomes_of_a_group_are_published_once(api: Api, signals: Any) -> None:
    first, second = accepted(api), accepted(api, "+79161234568")
    while signal_fields(signals):
        pass

    transitions.commit_events(
        [
            Event(first.message_id, first.id, EventKind.DELIVERED),
            Event(second.message_id, second.id, EventKind.UNREACHABLE),
        ]
    )

    assert sorted(signal_fields(signals)) == sorted(
        [
            (first.message_id.hex, "delivered", "whatsapp", "", 1),
            (second.message_id.hex, "failed", "whatsapp", "recipient_unreachable", 1),
        ]
    )
    assert signal_fields(signals) == []


@pytest.mark.django_db(transaction=True)
def test_contradicting_events_settle_once(api: Api) -> None:
    attempt = accepted(api)
    several = [
        EventKind.DELIVERED,
        EventKind.REFUSED,
        EventKind.EXPIRED,
        EventKind.READ,
        EventKind.GIVEN_UP,
    ] * 3

    at_once(
        [
            partial(transitions.commit_events, [Event(attempt.message_id, attempt.id, what)])
            for what in several
        ]
    )

    assert states(attempt) == ("delivered", "delivered")
    settled = transfers(attempt.message)[1:]
    assert len(settled) == 1
    is_charged = settled[0][0] == "capture"
    assert ledger.balance(api.company.pk) == (999 if is_charged else 1000, 0)
    call_command("reconcile", verbosity=0)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("round_number", range(3))
def test_overlapping_groups_do_not_deadlock(api: Api, round_number: int) -> None:
    attempts = [accepted(api, f"+7916123456{n}") for n in range(8)]

    def all_of(several: list[Attempt], what: EventKind) -> Any:
        return partial(
            transitions.commit_events,
            [
                Event(attempt.message_id, attempt.id, what, proof=DeliveryProof.RECEIPT)
                for attempt in several
            ],
        )

    at_once(
        [
            all_of(attempts, EventKind.DELIVERED),
            all_of(attempts[::-1], EventKind.DELIVERED),
            all_of(attempts[::2], EventKind.READ),
            lambda: transitions.give_up(list(Message.objects.values_list("id", flat=True))),
        ]
    )

    assert ledger.balance(api.company.pk) == (992, 0)
    assert Transfer.objects.filter(kind="capture").count() == 8
    call_command("reconcile", verbosity=0)
