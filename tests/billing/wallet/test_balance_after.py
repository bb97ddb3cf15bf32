"""The balance after each transfer follows from the one before it, in the order of the statement."""

import random
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.utils import timezone

from accounts.models import Company
from billing.models import Transfer, Wallet
from billing.wallet import ledger, statement
from billing.wallet.ledger import Settlement
from catalogue.ids import uuid7
from tests.api.races import at_once
from tests.cabinet.csv_files import csv_rows
from tests.factories import CompanyFactory, TransferFactory

Kind = Transfer.Kind
SIGNS = {Kind.TOP_UP: 1, Kind.GRANT: 1, Kind.WITHDRAW: -1, Kind.CAPTURE: -1}


@pytest.fixture
def company(db: None) -> Company:
    company: Company = CompanyFactory.create()
    ledger.grant(company=company, amount=1000, reason="test")
    return company


def hold_tokens(company: Company, price: int = 10) -> UUID:
    """The id of a message whose hold is open."""
    message_id = uuid7()
    TransferFactory.create(company=company, kind=Kind.HOLD, amount=price, message_id=message_id)
    wallet = Wallet.objects.get(company=company)
    Wallet.objects.filter(company=company).update(
        available=wallet.available - price, held=wallet.held + price
    )
    return message_id


def charge(company: Company, *messages: UUID, price: int = 10) -> None:
    settlement = [
        Settlement(company.pk, each, 1, price, Kind.CAPTURE, proof="receipt") for each in messages
    ]
    with transaction.atomic(), connection.cursor() as cursor:
        ledger.settle(cursor, settlement)


def release(company: Company, message: UUID, price: int = 10) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        ledger.settle(
            cursor, [Settlement(company.pk, message, 1, price, Kind.RELEASE, reason="expired")]
        )


def changes(company: Company) -> list[Transfer]:
    rows = Transfer.objects.filter(company=company, balance_after__isnull=False)
    return list(rows.order_by("created_at", "id"))


def assert_chained(company: Company) -> None:
    rows = changes(company)
    for before, row in pairwise(rows):
        assert row.balance_after == (before.balance_after or 0) + SIGNS[Kind(row.kind)] * row.amount
    wallet = Wallet.objects.get(company=company)
    assert rows[-1].balance_after == wallet.available + wallet.held
    assert wallet.moved_at is not None
    assert rows[-1].created_at <= wallet.moved_at


def test_each_transfer_stores_the_balance_after_it(company: Company) -> None:
    first, second, third = (hold_tokens(company) for _message in range(3))

    charge(company, first)
    ledger.top_up(company=company, amount=50, key="order")
    release(company, second)
    ledger.withdraw(company=company, amount=5, reason="test")
    charge(company, third)

    assert [row.balance_after for row in changes(company)] == [1000, 990, 1040, 1035, 1025]
    assert_chained(company)


def test_charges_of_one_statement_follow_each_other(company: Company) -> None:
    messages = [hold_tokens(company) for _message in range(5)]
    random.Random(3).shuffle(messages)  # noqa: S311

    charge(company, *messages)

    assert [row.balance_after for row in changes(company)] == [1000, 990, 980, 970, 960, 950]


def test_settled_again_changes_no_balance(company: Company) -> None:
    first, second, third = (hold_tokens(company) for _message in range(3))
    charge(company, second)

    charge(company, first, second, third)

    assert [row.balance_after for row in changes(company)] == [1000, 990, 980, 970]
    assert_chained(company)


def test_clock_set_back_keeps_order(company: Company) -> None:
    later = timezone.now() + timedelta(minutes=5)
    Wallet.objects.update(moved_at=later)

    ledger.grant(company=company, amount=1, reason="test")
    charge(company, hold_tokens(company))

    rows = changes(company)
    assert [row.balance_after for row in rows] == [1000, 1001, 991]
    assert later < rows[1].created_at < rows[2].created_at


@pytest.mark.django_db(transaction=True)
def test_transfers_at_once_are_in_the_order_of_their_balances(company: Company) -> None:
    works: list[Callable[[], object]] = []
    for _n in range(12):
        message = hold_tokens(company)
        other = hold_tokens(company)
        works += [
            lambda message=message: charge(company, message),  # type: ignore[misc]
            lambda other=other: release(company, other),  # type: ignore[misc]
            lambda: ledger.grant(company=company, amount=3, reason="test"),
        ]

    at_once(works)

    assert len(changes(company)) == 1 + 24
    assert_chained(company)


def test_hold_and_release_show_the_balance_before_them(company: Company) -> None:
    message = hold_tokens(company)
    ledger.grant(company=company, amount=7, reason="test")
    release(company, message)
    rows = list(Transfer.objects.filter(company=company).order_by("-created_at", "-id"))

    shown = [(row.kind, balance) for row, balance in statement.with_balances(company, rows)]

    assert shown == [("release", 1007), ("grant", 1007), ("hold", 1000), ("grant", 1000)]
    exported = [line[4] for line in csv_rows(company, "statement", {"kind": "all"})][1:]
    assert exported == [1000, 1000, 1007, 1007]
