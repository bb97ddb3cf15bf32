from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

from storage.months.calendar import (
    last_day,
    month_of,
    next_month,
    parse_month,
)


def test_month_of_a_time_is_that_of_the_zone() -> None:
    at = datetime(2026, 12, 31, 22, tzinfo=UTC)

    assert month_of(at, UTC) == date(2026, 12, 1)
    assert month_of(at, ZoneInfo("Europe/Moscow")) == date(2027, 1, 1)


def test_month_after_december_is_in_the_next_year() -> None:
    assert next_month(date(2026, 12, 31)) == date(2027, 1, 1)


def test_february_of_a_leap_year_ends_on_its_29th() -> None:
    assert last_day(date(2028, 2, 1)) == date(2028, 2, 29)


def test_month_is_read_as_its_first_day() -> None:
    assert parse_month("2026-02") == date(2026, 2, 1)
