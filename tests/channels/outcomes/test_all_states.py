"""Receipts of messages in every state: what one statement writes is what the state machine would.

The states are those of the models, so that a new one is compared without being listed.
"""

from collections.abc import Sequence
from datetime import timedelta
from itertools import product
from typing import Any, NamedTuple

import pytest
from django.utils import timezone

from accounts.models import Company
from billing.models import Transfer, Wallet
from billing.wallet import ledger
from channels.models import Attempt, Message, OpenMessage, Receipt
from channels.outcomes import receipts, unchanged_messages
from channels.providers.inbound import ReceiptState
from tests.factories import AttemptFactory, CompanyFactory, MessageFactory, ReceiptFactory

pytestmark = pytest.mark.django_db(transaction=True)

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
            company=company, state=case.message, due_at=None, tries=1, is_owed=case.is_owed,
            hold=1 if case.is_on_present_channel else 2, error="delivery_failed",
            created_at=now - timedelta(minutes=2),
        )
        for case in cases
    ]  # fmt: skip
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


def rows(attempts: Sequence[Attempt]) -> list[list[dict[str, Any]]]:
    """The rows of each attempt's message, without what names them; times in minutes."""
    tables = [
        (Message, "id", "message_id"),
        (Attempt, "id", "id"),
        (OpenMessage, "message_id", "message_id"),
        (Transfer, "message_id", "message_id"),
        (Receipt, "provider_id", "provider_id"),
    ]
    now = timezone.now()
    written: list[list[dict[str, Any]]] = [[] for _ in attempts]
    for model, key, name in tables:
        by_key: dict[Any, list[dict[str, Any]]] = {}
        for row in model._default_manager.order_by("pk").values():
            by_key.setdefault(row[key], []).append(
                {
                    column: round((value - now).total_seconds() / 60)
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
    ledger.grant(company=company, amount=10 * len(CASES), reason="test")
    Wallet.objects.filter(company=company).update(held=4 * len(CASES))

    quick = stored(company, CASES)
    before = rows(quick)
    applied, has_left = unchanged_messages.deliver_unchanged(10 * len(CASES))
    after = rows(quick)
    Receipt.objects.update(due_at=None)
    others = stored(company, CASES)
    assert receipts._apply_batch(10 * len(CASES)) == len(CASES)
    expected = rows(others)

    taken = [case for case, was, now in zip(CASES, before, after, strict=True) if was != now]
    assert (len(taken), has_left) == (applied, True)
    assert {case.receipt for case in taken} == {"sent", "delivered"}
    for case, now, then in zip(CASES, after, expected, strict=True):
        if case in taken:
            assert now == then, case
