"""Months before the first: rows go there, and the oldest one takes all that is older."""

from datetime import UTC, date, datetime

import pytest
from django.db import connection
from django.utils import timezone

from catalogue.ids import first_id_at
from storage.months.calendar import month_of, previous_month
from storage.months.partitions import TABLES, MonthlyTable
from tools.demo import months

pytestmark = pytest.mark.django_db
_PARTITION_OF = "SELECT tableoid::regclass::text FROM channels_message"
_INDEXES = "SELECT indexdef FROM pg_indexes WHERE tablename = %s"


def month(ago: int) -> date:
    this = month_of(timezone.now(), UTC)
    for _ in range(ago):
        this = previous_month(this)
    return this


def insert_message(day: date) -> None:
    at = datetime(day.year, day.month, 15, tzinfo=UTC)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO channels_message (id, company_id, mode, kind, content, channel, chain,"
            " phone, subject_id, params, locale, request_id, price, priority, useful_until,"
            " deadline)"
            " VALUES (%s, 1, 'live', 'code', 'code', 'sms', '[]', '+1', gen_random_uuid(), '{}',"
            " 'ru', '', 1, 0, now(), now())",
            [first_id_at(at)],
        )


def partition_of_message() -> str:
    with connection.cursor() as cursor:
        cursor.execute(_PARTITION_OF)
        ((name,),) = cursor.fetchall()
        return str(name)


def definitions(partition: str) -> list[tuple[bool, str]]:
    """The definitions of its indexes, without their names."""
    with connection.cursor() as cursor:
        cursor.execute(_INDEXES, [partition])
        found = [definition for (definition,) in cursor.fetchall()]
    return sorted((each.startswith("CREATE UNIQUE"), each.split(" USING ")[1]) for each in found)


def test_row_of_an_earlier_month_is_stored_there() -> None:
    assert months.create_earlier(month(3)) == 3 * len(TABLES)

    insert_message(month(2))

    assert partition_of_message() == f"channels_message_{month(2):%Y_%m}"


def test_oldest_month_takes_what_is_older() -> None:
    months.create_earlier(month(2))

    insert_message(month(9))

    assert partition_of_message() == f"channels_message_{month(2):%Y_%m}"


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_earlier_months_have_the_same_indexes(table: MonthlyTable) -> None:
    months.create_earlier(month(2))

    this, *earlier = (definitions(f"{table.name}_{month(n):%Y_%m}") for n in range(3))

    assert earlier == [this, this]
