"""Moments at the ends of the calendar."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from parsing.days import FIRST_DAY, LAST_DAY, parse_moment, start_of

ENDS = ["0001-01-01", "9999-12-31", "1969-12-31", "2200-01-01"]


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Etc/GMT+12"])
@pytest.mark.parametrize(
    "text", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59.999999-14:00", *ENDS]
)
def test_moment_at_an_end_of_the_calendar_can_be_converted(text: str, zone: str) -> None:
    moment = parse_moment(text)

    assert moment is not None
    with timezone.override(zone):
        assert FIRST_DAY - timedelta(1) <= timezone.localtime(moment).date()
        assert timezone.localtime(moment).date() <= LAST_DAY + timedelta(1)


@pytest.mark.parametrize(
    "text",
    ["", "soon", "2026-13-01", "2026-01-01T25:00", "1733011200", "1796100258", "1796100258000"],
)
def test_invalid_moment_is_none(text: str) -> None:
    assert parse_moment(text) is None


def test_moment_without_zone_is_in_utc() -> None:
    assert parse_moment("2026-01-31T10:00:00") == datetime(2026, 1, 31, 10, tzinfo=UTC)
    assert parse_moment("2026-01-31") == datetime(2026, 1, 31, tzinfo=UTC)
    assert parse_moment("20260131") == datetime(2026, 1, 31, tzinfo=UTC)
    assert parse_moment("2026-1-31") == datetime(2026, 1, 31, tzinfo=UTC)


def test_days_after_the_last_one_begin() -> None:
    with timezone.override("Etc/GMT+12"):
        assert start_of(LAST_DAY + timedelta(days=1)).tzinfo is not None
