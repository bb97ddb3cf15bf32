"""What the queries of several lists of the API have in common."""

from datetime import UTC, datetime

from django.utils.dateparse import parse_date, parse_datetime

from config.errors import invalid_input


def time_of(name: str, text: str) -> datetime:
    """A moment or a day of UTC in ISO 8601; raises `invalid_input` on `name`."""
    try:
        moment = parse_datetime(text.replace(" ", "+"))
        day = None if moment else parse_date(text)
    except ValueError:
        moment = day = None
    if moment is None and day is not None:
        moment = datetime(day.year, day.month, day.day, tzinfo=UTC)
    if moment is None:
        raise invalid_input(
            **{
                name: (
                    "Время в формате ISO 8601, например 2026-01-31T10:00:00Z",
                    "A time in ISO 8601, 2026-01-31T10:00:00Z for example",
                )
            }
        )
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
