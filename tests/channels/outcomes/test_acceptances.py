"""Acceptances and receipts in one statement: what it writes is what the state machine would."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import Company
from billing.models import Transfer, Wallet
from billing.wallet import ledger
from channels.deliver import dispatcher
from channels.deliver.claims import ClaimedMessage
from channels.lifecycle.state_machine import Event, EventKind
from channels.models import Attempt, Message, OpenMessage, Receipt, StaleDay
from channels.outcomes import due_receipts, transitions, unchanged_messages
from channels.providers.inbound import ReceiptState
from channels.vendor_accounts import availability
from tests.api.clients import Api
from tests.api.races import at_once
from tests.channels.message_stages import claim, claimed, send
from tests.factories import (
    AttemptFactory,
    CompanyFactory,
    EndpointFactory,
    MessageFactory,
    ReceiptFactory,
)
from tests.sql import execute

pytestmark = pytest.mark.django_db(transaction=True)


def acceptance(of: ClaimedMessage, **facts: Any) -> Event:
    fields: dict[str, Any] = {"provider_id": f"vendor-{of.attempt_id}", "pollable": True} | facts
    first_claim = dispatcher._first_claim(of)
    return Event(
        of.message_id, of.attempt_id, EventKind.ACCEPTED, first_claim=first_claim, **fields
    )


def rows(of: ClaimedMessage) -> list[dict[str, Any]]:
    """Returns the rows of a message without the values in which any two messages differ."""
    result: list[dict[str, Any]] = []
    for model, key in ((Message, "id"), (Attempt, "message_id"), (OpenMessage, "message_id")):
        (row,) = model._default_manager.filter(**{key: of.message_id}).values()
        result.append(dict(row))
    now = timezone.now()
    for row in result:
        for name, value in row.items():
            if hasattr(value, "tzinfo"):
                row[name] = round((value - now).total_seconds() / 5)
    for name in ("id", "subject_id", "request_id", "params", "phone"):
        del result[0][name]
    for name in ("id", "message_id", "provider_id"):
        del result[1][name]
    return [result[0], result[1], {**result[2], "message_id": "", "attempt_id": ""}]


def test_acceptance_uses_one_statement(
    api: Api, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    event = acceptance(claimed(api))

    with django_assert_num_queries(1):
        assert unchanged_messages.accept_unchanged([event]) == []

    attempt = Attempt.objects.select_related("message").get()
    assert (attempt.state, attempt.provider_id) == ("sent", event.provider_id)
    assert (attempt.message.state, attempt.message.due_at) == ("sent", None)


@pytest.mark.parametrize("pollable", [True, False])
@pytest.mark.parametrize("chain", [{}, {"channel": "auto"}])
def test_acceptance_statement_matches_state_machine(
    api: Api, pollable: bool, chain: dict[str, str]
) -> None:
    if chain:
        api.company.falls_back = True
        api.company.fallback_chain = ["whatsapp", "sms"]
        api.company.save()
    first = claimed(api)
    unchanged_messages.accept_unchanged([acceptance(first, pollable=pollable)])
    second = claimed(api, "+79161234568")
    transitions.commit_events([acceptance(second, pollable=pollable)])

    assert rows(first) == rows(second)


def receipt(of: ClaimedMessage) -> None:
    transitions.commit_events([Event(of.message_id, of.attempt_id, EventKind.DELIVERED)])


def lease(of: ClaimedMessage) -> None:
    transitions.commit_events([Event(of.message_id, of.attempt_id, EventKind.AMBIGUOUS, code="x")])


def deadline(of: ClaimedMessage) -> None:
    transitions.commit_events([Event(of.message_id, of.attempt_id, EventKind.GIVEN_UP)])


def poll(of: ClaimedMessage) -> None:
    Attempt.objects.filter(pk=of.attempt_id).update(poll_at=timezone.now())


def locked(of: ClaimedMessage) -> None:
    execute("SELECT FROM channels_message WHERE id = %s FOR UPDATE", [of.message_id])


@pytest.mark.parametrize(
    ("meanwhile", "is_left"),
    [(receipt, True), (lease, True), (deadline, True), (poll, True), (locked, False)],
)
def test_changed_message_is_left_to_the_state_machine(
    api: Api, meanwhile: Callable[[ClaimedMessage], None], is_left: bool
) -> None:
    message = claimed(api)
    meanwhile(message)
    before = Message.objects.values().get(), Attempt.objects.values().get()

    left = unchanged_messages.accept_unchanged([acceptance(message)])

    assert bool(left) is is_left
    if is_left:
        assert (Message.objects.values().get(), Attempt.objects.values().get()) == before


def test_group_returns_only_changed_attempts(api: Api) -> None:
    several = [claimed(api, f"+7916123456{n}") for n in range(3)]
    receipt(several[1])

    left = unchanged_messages.accept_unchanged([acceptance(message) for message in several])

    assert [event.attempt_id for event in left] == [several[1].attempt_id]


def test_second_attempt_is_refused(api: Api) -> None:
    first = claimed(api)
    refused = Event(first.message_id, first.attempt_id, EventKind.RETRY, code="busy")
    transitions.commit_events([refused])

    (second,) = claim()

    assert (second.n, second.claim_xid) == (2, None)


def test_acceptance_with_subscriber_uses_state_machine(api: Api) -> None:
    EndpointFactory.create(company=api.company)

    assert claimed(api).claim_xid is None


def test_acceptance_after_midnight_marks_the_day_of_the_message(api: Api) -> None:
    send(api)
    Message.objects.update(created_at=timezone.now() - timedelta(days=1))
    availability.reset()
    (one,) = claim()

    assert unchanged_messages.accept_unchanged([acceptance(one)]) == []

    assert StaleDay.objects.count() == 1


def test_races_with_receipts_end_delivered(api: Api) -> None:
    several = [claimed(api, f"+791612345{n:02}") for n in range(8)]

    at_once(
        [
            *(partial(receipt, message) for message in several),
            partial(_accept, several),
            partial(_accept, several[::-1]),
        ]
    )

    states = Attempt.objects.values_list("state", "message__state", "provider_id")
    assert {(state, of_message) for state, of_message, _ in states} == {("delivered", "delivered")}
    assert all(provider_id for _, _, provider_id in states)


def _accept(several: list[ClaimedMessage]) -> None:
    events = [acceptance(message) for message in several]
    transitions.commit_events(unchanged_messages.accept_unchanged(events))


IDENTITIES = {
    Message: {"id", "subject_id", "phone"},
    Attempt: {"id", "message_id", "provider_id"},
    OpenMessage: {"message_id", "attempt_id"},
    Transfer: {"id", "message_id", "balance_after"},
    Receipt: {"id", "digest", "attempt_id", "provider_id", "ref"},
}


class Case(NamedTuple):
    """A message, its only attempt, and what the vendor says of it."""

    message: str
    attempt: str
    is_on_present_channel: bool
    is_owed: bool
    receipt: str


CASES = [
    Case(*values)
    for values in product(
        Message.State.values,
        Attempt.State.values,
        (True, False),
        (True, False),
        ReceiptState,
    )
]


def stored(company: Company, cases: Sequence[Case]) -> list[Attempt]:
    """The cases as rows, with a receipt each that is due."""
    now = timezone.now()
    messages = [
        MessageFactory.build(
            company=company,
            state=case.message,
            due_at=None,
            tries=1,
            is_owed=case.is_owed,
            hold=1 if case.is_on_present_channel else 2,
            error="delivery_failed",
            created_at=now - timedelta(minutes=2),
        )
        for case in cases
    ]
    Message.objects.bulk_create(messages)
    attempts = [
        AttemptFactory.build(message=message, state=case.attempt, hold=1, price=1)
        for message, case in zip(messages, cases, strict=True)
    ]
    Attempt.objects.bulk_create(attempts)
    heard = [
        ReceiptFactory.build(attempt=attempt, ref=None, state=case.receipt, due_at=now, at=now)
        for attempt, case in zip(attempts, cases, strict=True)
    ]
    for receipt in heard:
        receipt.attempt = None
    Receipt.objects.bulk_create(heard)
    return attempts


def stored_rows(attempts: Sequence[Attempt]) -> list[list[dict[str, Any]]]:
    """The rows of each attempt's message, without what names them; times in minutes."""
    tables = [
        (Message, "id", "message_id"),
        (Attempt, "id", "id"),
        (OpenMessage, "message_id", "message_id"),
        (Transfer, "message_id", "message_id"),
        (Receipt, "provider_id", "provider_id"),
    ]
    began_at = attempts[
        0
    ].message.created_at  # the same before and after: a slow run changes no row
    written: list[list[dict[str, Any]]] = [[] for _ in attempts]
    for model, key, name in tables:
        by_key: dict[Any, list[dict[str, Any]]] = {}
        for row in model._default_manager.order_by("pk").values():
            by_key.setdefault(row[key], []).append(
                {
                    column: round((value - began_at).total_seconds() / 60)
                    if hasattr(value, "tzinfo")
                    else value
                    for column, value in row.items()
                    if column not in IDENTITIES[model]
                }
            )
        for number, attempt in enumerate(attempts):
            written[number] += by_key.get(getattr(attempt, name), [])
    return written


def test_one_statement_decides_as_the_state_machine() -> None:
    company = CompanyFactory.create()
    execute("ANALYZE")  # plans as after an autovacuum of the empty tables
    ledger.grant(company=company, amount=10 * len(CASES), reason="test")
    Wallet.objects.filter(company=company).update(held=4 * len(CASES))

    quick = stored(company, CASES)
    before = stored_rows(quick)
    applied, has_left = unchanged_messages.deliver_unchanged(10 * len(CASES))
    after = stored_rows(quick)
    Receipt.objects.update(due_at=None)
    others = stored(company, CASES)
    assert due_receipts._apply_batch(10 * len(CASES)) == len(CASES)
    expected = stored_rows(others)

    taken = [case for case, was, now in zip(CASES, before, after, strict=True) if was != now]
    assert (len(taken), has_left) == (applied, True)
    assert {case.receipt for case in taken} == {"sent", "delivered"}
    for case, now, then in zip(CASES, after, expected, strict=True):
        if case in taken:
            assert now == then, case
