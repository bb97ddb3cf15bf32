"""A new month is analyzed as soon as it has rows, and again while it doubles."""

from django.db import connection

from storage.months import partitions
from tests.session_settings import session_setting
from tests.storage.months.young_months import YoungMonth, young_month

__all__ = ["young_month"]


def test_month_is_analyzed_as_it_grows(young_month: YoungMonth) -> None:
    found = []
    for more in (20, 100, 50, 150):
        young_month.add(more)
        found.append(partitions.analyze_doubled())

    assert found == [[], [young_month.name], [], [young_month.name]]
    assert young_month.known_rows == 320


def test_month_that_somebody_locks_is_left_for_later(young_month: YoungMonth) -> None:
    young_month.add(120)
    other = connection.copy()
    try:
        with other.cursor() as cursor, session_setting("lock_timeout", "'50ms'"):
            cursor.execute("BEGIN")
            cursor.execute(f"LOCK TABLE {young_month.name}")
            partitions.analyze_doubled()
            cursor.execute("ROLLBACK")
    finally:
        other.close()
    left = young_month.known_rows

    partitions.analyze_doubled()

    assert (left, young_month.known_rows) == (-1, 120)
