"""A day is sealed only when no transaction can add to it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from django.db import connection

from accounts.models import Company
from billing.models import Transfer
from billing.seals.sealing import MARGIN, closed_until

pytestmark = pytest.mark.django_db(transaction=True)
AT_ONCE = timedelta()
_LATE = """
INSERT INTO billing_transfer (company_id, kind, amount, key, proof, reason, balance_after)
VALUES (%s, 'grant', 1, 'late', '', '', 1)
"""


@pytest.fixture
def other() -> Iterator[psycopg.Connection]:
    """Another session of the same database."""
    with session_of(connection.settings_dict["NAME"]) as session:
        yield session


def session_of(database: str) -> psycopg.Connection:
    params = connection.get_connection_params() | {"dbname": database}
    for name in ("cursor_factory", "context", "autocommit"):
        params.pop(name, None)
    return psycopg.connect(**params)


def started(session: psycopg.Connection) -> datetime:
    """Begins a transaction that has no transaction id yet."""
    row = session.execute("SELECT now()").fetchone()
    assert row is not None
    moment: datetime = row[0]
    return moment


def test_nothing_older_than_the_margin_is_awaited() -> None:
    age = datetime.now(UTC) - closed_until()

    assert MARGIN - timedelta(seconds=5) < age < MARGIN + timedelta(seconds=5)


def test_transfer_of_an_open_transaction_is_not_closed(
    other: psycopg.Connection, company: Company
) -> None:
    start = started(other)
    assert closed_until(AT_ONCE) <= start

    other.execute(_LATE, [company.pk])

    assert closed_until(AT_ONCE) <= start
    other.commit()
    assert start < Transfer.objects.get(key="late").created_at < closed_until(AT_ONCE)


def test_transaction_of_another_database_is_not_awaited(company: Company) -> None:
    with session_of("postgres") as session:
        start = started(session)

        assert closed_until(AT_ONCE) > start


def test_transaction_with_hidden_start_counts_as_old(other: psycopg.Connection) -> None:
    started(other)
    with connection.cursor() as cursor:
        cursor.execute("DROP ROLE IF EXISTS sees_nothing")
        cursor.execute("CREATE ROLE sees_nothing")
        cursor.execute("SET ROLE sees_nothing")
        try:
            assert closed_until(AT_ONCE).year == 2000
            other.rollback()
            assert closed_until(AT_ONCE).year > 2000
        finally:
            cursor.execute("RESET ROLE")
            cursor.execute("DROP ROLE sees_nothing")
