"""A new month is analyzed as soon as it has rows, and again while it doubles."""

from collections.abc import Iterator

import pytest
from django.db import connection
from django.utils import timezone

from accounts.models import Company
from channels.models import Message
from config.storage.months import statistics
from tests.factories import CompanyFactory, MessageFactory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _no_autovacuum(transactional_db: None) -> Iterator[None]:
    """Nobody else counts the rows, of which there are none."""
    month = month_of("channels_message")
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {month} SET (autovacuum_enabled = off)")
        cursor.execute("ANALYZE channels_message")
    yield
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {month} RESET (autovacuum_enabled)")


@pytest.fixture
def company() -> Company:
    return CompanyFactory.create()


def add(company: Company, many: int) -> None:
    Message.objects.bulk_create(MessageFactory.build_batch(many, company_id=company.pk))
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")


def month_of(table: str) -> str:
    return f"{table}_{timezone.now():%Y_%m}"


def known_rows() -> int:
    with connection.cursor() as cursor:
        month = month_of("channels_message")
        cursor.execute("SELECT reltuples FROM pg_class WHERE relname = %s", [month])
        return int(cursor.fetchone()[0])


def test_month_is_analyzed_as_it_grows(company: Company) -> None:
    add(company, 20)
    too_few = statistics.analyze_doubled()
    add(company, 100)
    first = statistics.analyze_doubled()
    add(company, 50)
    not_yet = statistics.analyze_doubled()
    add(company, 150)
    second = statistics.analyze_doubled()

    months = [month_of("channels_message") in found for found in (too_few, first, not_yet, second)]
    assert months == [False, True, False, True]
    assert known_rows() == 320


def test_month_that_somebody_locks_is_left_for_later(company: Company) -> None:
    add(company, 120)
    statistics.analyze_doubled()
    add(company, 400)
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute(f"LOCK TABLE {month_of('channels_message')}")
            with connection.cursor() as mine:
                mine.execute("SET lock_timeout = '50ms'")
            statistics.analyze_doubled()
            cursor.execute("ROLLBACK")
    finally:
        other.close()
        connection.close()

    assert known_rows() == 120
    statistics.analyze_doubled()
    assert known_rows() == 520
