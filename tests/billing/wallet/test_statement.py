"""The statement: running balances, exact on every page, under every filter, and in the CSV."""

import csv
import io
import random
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.models import Company, Member
from billing.models import Transfer
from billing.wallet import ledger
from tests.billing.top_ups import payment_event, place_order, post_webhook
from tests.factories import (
    MemberFactory,
    TransferFactory,
    WalletFactory,
    create_transfers,
)

pytestmark = pytest.mark.django_db
START = datetime(2026, 5, 1, 9, 0, tzinfo=timezone.get_default_timezone())
EFFECT = {"top_up": 1, "grant": 1, "withdraw": -1, "capture": -1, "hold": 0, "release": 0}


@pytest.fixture
def member(client: Client) -> Member:
    member: Member = MemberFactory.create(role=Member.Role.ACCOUNTANT)
    client.force_login(member.user)
    return member


@pytest.fixture
def history(member: Member) -> list[tuple[Transfer, int]]:
    """A history of 130 lines, some at the same moment, each with its balance after it."""
    dice = random.Random(5)  # noqa: S311
    rows = [line(member.company, dice, n) for n in range(130)]
    create_transfers(rows)
    left = list(accumulate(EFFECT[row.kind] * row.amount for row in rows))
    WalletFactory.create(company=member.company, available=left[-1] - 7, held=7)
    TransferFactory.create(amount=999)  # somebody else's
    return list(zip(rows, left, strict=True))


def line(company: Company, dice: random.Random, n: int) -> Transfer:
    kinds = ["grant"] if n == 0 else [*EFFECT]
    kind = dice.choice(kinds)
    row: Transfer = TransferFactory.build(
        company=company,
        kind=kind,
        amount=100_000 if n == 0 else dice.randint(1, 50),
        created_at=START + timedelta(minutes=30 * (n // 2)),  # in twos
        proof="receipt" if kind == "capture" else "",
        message_id=uuid4() if kind in {"hold", "capture", "release"} else None,
        key=f"top_up:{n:032x}" if kind == "top_up" else f"line:{n}",
    )
    return row


def pages(client: Client, query: str) -> list[tuple[Transfer, int]]:
    """Every line of every page, newest first."""
    result: list[tuple[Transfer, int]] = []
    address: str | None = f"{reverse('balance-statement')}?{query}"
    while address:
        response = client.get(address)
        result += response.context["lines"]
        cursor = response.context["page"].next_cursor
        address = f"{reverse('balance-statement')}?{query}&cursor={cursor}" if cursor else None
    return result


def day_of(row: Transfer) -> int:
    return timezone.localtime(row.created_at).day


FILTERS: list[tuple[str, Callable[[Transfer], bool]]] = [
    ("", lambda row: EFFECT[row.kind] != 0),
    ("kind=all", lambda row: True),
    ("kind=all&limit=7", lambda row: True),
    ("kind=capture", lambda row: row.kind == "capture"),
    ("kind=hold&limit=5", lambda row: row.kind == "hold"),
    ("kind=top_up&limit=1", lambda row: row.kind == "top_up"),
    ("kind=all&limit=9&date_from=2026-05-02&date_to=2026-05-02", lambda row: day_of(row) == 2),
    ("date_to=2026-05-01", lambda row: EFFECT[row.kind] != 0 and day_of(row) == 1),
]


@pytest.mark.parametrize(("query", "fits"), FILTERS, ids=[query for query, _ in FILTERS])
def test_every_line_shows_the_balance_after_it(
    client: Client,
    history: list[tuple[Transfer, int]],
    query: str,
    fits: Callable[[Transfer], bool],
) -> None:
    expected = [(row, left) for row, left in reversed(history) if fits(row)]

    assert pages(client, query) == expected
    assert len(expected) > 0


@pytest.mark.parametrize(("query", "fits"), FILTERS, ids=[query for query, _ in FILTERS])
def test_file_has_the_same_lines(
    client: Client,
    history: list[tuple[Transfer, int]],
    query: str,
    fits: Callable[[Transfer], bool],
) -> None:
    expected = [(row.amount, left) for row, left in history if fits(row)]

    rows = download(client, query)

    assert [(int(row["Токены"]), int(row["Баланс"])) for row in rows] == expected


def download(client: Client, query: str = "") -> list[dict[str, str]]:
    response: Any = client.get(f"{reverse('balance-csv')}?{query}")
    assert response.headers["Content-Disposition"].startswith('attachment; filename="kvitok-')
    text = b"".join(response.streaming_content).decode()
    assert text.startswith("\ufeff")
    return list(csv.DictReader(io.StringIO(text[1:]), delimiter=";"))


def test_statement_lists_grants_top_ups_and_withdrawals(client: Client, member: Member) -> None:
    company = member.company
    ledger.grant(company=company, amount=50, reason="подарок")
    order = place_order(company)
    post_webhook(payment_event(order))
    ledger.withdraw(company=company, amount=20, reason="ошибка")

    lines = pages(client, "")

    assert [(row.kind, owned) for row, owned in lines] == [
        ("withdraw", 1030),
        ("top_up", 1050),
        ("grant", 50),
    ]
    body = client.get(reverse("balance-statement")).content.decode()
    assert reverse("balance-order", args=[order.public_id]) in body


def test_queries_are_as_many_for_a_page_as_for_a_line(
    client: Client, history: list[tuple[Transfer, int]]
) -> None:
    client.get(reverse("balance-statement"))  # the session is noted once a minute
    counts = []
    for limit in (1, 50):
        with CaptureQueriesContext(connection) as captured:
            client.get(f"{reverse('balance-statement')}?kind=all&limit={limit}")
        counts.append(len(captured))

    assert counts[0] == counts[1] <= 11


@pytest.mark.parametrize("cursor", ["junk", "MjAyNi0xMS0yMHx4", "%00", "MjAyNi0wNS0wMXw5"])
def test_invalid_cursor_shows_the_first_page(
    client: Client, history: list[tuple[Transfer, int]], cursor: str
) -> None:
    response = client.get(f"{reverse('balance-statement')}?cursor={cursor}")

    assert response.status_code == 200


@pytest.mark.parametrize("name", ["date_from", "date_to"])
@pytest.mark.parametrize("day", ["0001-01-01", "9998-12-31", "9999-12-31"])
def test_extreme_dates_are_accepted(
    client: Client, history: list[tuple[Transfer, int]], name: str, day: str
) -> None:
    query = f"kind=all&{name}={day}"
    expected = len(history) if (name == "date_to") is day.startswith("9") else 0

    assert (len(pages(client, query)), len(download(client, query))) == (expected, expected)


@pytest.mark.parametrize(
    ("reason", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+7916", "'+7916"),
        ("-5", "'-5"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\r=1"),
        ('a;"b"', 'a;"b"'),
        ("обычная", "обычная"),
    ],
)
def test_cell_never_becomes_a_formula(
    client: Client, member: Member, reason: str, cell: str
) -> None:
    ledger.grant(company=member.company, amount=1, reason=reason)

    (row,) = download(client)

    assert row["Примечание"] == cell
    assert (row["Изменение"], row["Баланс"]) == ("1", "1")


def test_export_is_recorded(client: Client, member: Member) -> None:
    download(client, "kind=grant")

    event = member.company.audit.get()
    assert (event.action, event.subject) == ("statement.exported", "kind=grant")
