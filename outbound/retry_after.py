"""Retry-After (RFC 9110, 10.2.3): when a peer wants to be called again."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def seconds_of(retry_after: str, now: datetime) -> float | None:
    """From a number of seconds or a date; None for anything else, and for a date that is past."""
    text = retry_after.strip()
    if text.isascii() and text.isdecimal():
        return float(text[:10])
    seconds = _moment(text) - now.timestamp()
    return seconds if seconds > 0 else None


def _moment(date: str) -> float:
    """Unix seconds of a date of HTTP or of mail, whose zones some frameworks write; else 0."""
    try:
        at = parsedate_to_datetime(date)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return 0.0
