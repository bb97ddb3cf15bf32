"""Every export: each row once while the database restarts, and no connection held for a reader."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from accounts.models import Member
from tests.cabinet.csv_files import FILL, ROUTES
from tests.cabinet.routes import CABINET
from tests.factories import MemberFactory

pytestmark = pytest.mark.django_db(transaction=True)
ROWS = 9


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cabinet.csv_exports.PART_SIZE", 2)
    monkeypatch.setattr("billing.wallet.statement.BATCH_SIZE", 2)


def download(client: Client, kind: str) -> Iterator[bytes]:
    member: Member = MemberFactory.create(role=Member.Role.OWNER)
    client.force_login(member.user)
    FILL[kind](member.company, ROWS)
    response: Any = client.get(reverse(ROUTES[kind]))
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


@pytest.mark.parametrize("kind", FILL)
def test_every_row_is_there_once_though_the_database_restarts(client: Client, kind: str) -> None:
    lines = download(client, kind)
    read = [next(lines) for _ in range(4)]  # the byte order mark, the headings, two rows
    end_all_sessions()

    read += lines

    rows = read[2:]
    assert (len(rows), len(set(rows))) == (ROWS, ROWS)


@pytest.mark.parametrize("kind", FILL)
def test_reader_holds_no_connection(client: Client, kind: str) -> None:
    lines = download(client, kind)

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
