"""Every export: each row once while the database restarts, and no connection held for a reader."""

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from accounts.audit import record
from accounts.models import Company, Member
from billing.wallet import ledger
from tests.cabinet.routes import CABINET
from tests.factories import LinkFactory, MemberFactory, MessageFactory

pytestmark = pytest.mark.django_db(transaction=True)
ROWS = 9
BATCH_SIZES = (
    "channels.history.export.BATCH_SIZE",
    "links.web.list_views.BATCH_SIZE",
    "cabinet.audit_log.BATCH_SIZE",
)


def _messages(company: Company) -> None:
    MessageFactory.create_batch(ROWS, company=company)


def _links(company: Company) -> None:
    LinkFactory.create_batch(ROWS, company=company)


def _transfers(company: Company) -> None:
    for amount in range(1, ROWS + 1):
        ledger.grant(company=company, amount=amount, reason="")


def _events(company: Company) -> None:
    for number in range(ROWS):
        record("settings.changed", number, company=company, user=None)


EXPORTS = {
    "message-export": _messages,
    "link-export": _links,
    "balance-csv": _transfers,
    "audit-export": _events,
}


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in BATCH_SIZES:
        monkeypatch.setattr(name, 2)
    monkeypatch.setattr("billing.wallet.statement.BATCH_SIZE", 2)


def download(client: Client, route: str, fill: Callable[[Company], None]) -> Iterator[bytes]:
    member: Member = MemberFactory.create(role=Member.Role.OWNER)
    client.force_login(member.user)
    fill(member.company)
    response: Any = client.get(reverse(route))
    assert response.company_id == member.company_id  # by which its places are counted
    lines: Iterator[bytes] = iter(response.streaming_content)
    return lines


def end_all_sessions() -> None:
    with connection.cursor() as cursor:
        address = cursor.connection.info.dsn
    connection.close()
    with psycopg.connect(address, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.mark.parametrize("route", EXPORTS)
def test_every_row_is_there_once_though_the_database_restarts(client: Client, route: str) -> None:
    lines = download(client, route, EXPORTS[route])
    read = [next(lines) for _ in range(4)]  # the byte order mark, the headings, two rows
    end_all_sessions()

    read += lines

    rows = read[2:]
    assert (len(rows), len(set(rows))) == (ROWS, ROWS)


@pytest.mark.parametrize("route", EXPORTS)
def test_reader_holds_no_connection(client: Client, route: str) -> None:
    lines = download(client, route, EXPORTS[route])

    held = [connection.connection is not None for _line in lines]

    assert len(held) == ROWS + 2
    assert not any(held[2:])  # the byte order mark and the headings come before any read


FILTERED = sorted(
    name for name, route in CABINET.items() if route.of is None and reverse(name).endswith(".csv")
)
INVALID = {
    "state": "no-such-state",
    "period": "days",
    "date_from": "2026-02-30",
    "date_to": "2026-02-28",
}


@pytest.mark.parametrize("route", FILTERED)
def test_export_with_invalid_filter_shows_error(client: Client, route: str) -> None:
    client.force_login(MemberFactory.create(role=Member.Role.OWNER).user)

    response = client.get(reverse(route), INVALID, follow=True)

    assert 'class="invalid-feedback' in response.content.decode()
