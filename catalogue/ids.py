"""Identifiers: time-ordered UUIDs inside, prefixed opaque strings outside."""

import os
import re
import time
from datetime import UTC, datetime, timedelta
from uuid import UUID

from parsing.days import LAST_DAY

_VERSION_AND_VARIANT = (7 << 76) | (2 << 62)
_RANDOM_BITS = ~((0xF << 76) | (0x3 << 62)) & ((1 << 80) - 1)

_LARGEST = (1 << 128) - 1


def uuid7() -> UUID:
    """RFC 9562 §5.7: milliseconds first, so that new rows are inserted at one end of an index."""
    millis = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10), "big") & _RANDOM_BITS
    return UUID(int=(millis << 80) | random | _VERSION_AND_VARIANT)


def first_id_at(at: datetime) -> UUID:
    """A lower bound for ids made from this time on."""
    millis = max(0, int(at.timestamp() * 1000))  # the time in an id starts in 1970
    return UUID(int=(millis << 80) | _VERSION_AND_VARIANT)


def ids_around(first: UUID, last: UUID, span: timedelta) -> tuple[UUID, UUID]:
    """Bounds of the ids made from this long before the first to this long after the last."""
    distance = int(span.total_seconds() * 1000) << 80
    return UUID(int=max(0, first.int - distance)), UUID(int=min(_LARGEST, last.int + distance))


def public_id(prefix: str, value: UUID) -> str:
    """The id as clients see it, such as `msg_` and 32 hexadecimal digits."""
    return f"{prefix}_{value.hex}"


def public_id_sql(prefix: str, column: str) -> str:
    """Returns SQL of the public ids in a column of UUIDs."""
    return f"'{prefix}_' || replace({column}::text, '-', '')"


def parse_id(prefix: str, text: str) -> UUID | None:
    """The UUID of a public id; None for any other text."""
    head, _, digits = text.partition("_")
    if head != prefix or len(digits) != 32:
        return None
    return uuid_or_none(digits)


def uuid_or_none(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


_NEVER = datetime(LAST_DAY.year + 1, 1, 1, tzinfo=UTC).timestamp()
_REQUEST = re.compile(r"req_([0-9a-f]{12})[0-9a-f]{10}")


def request_id() -> str:
    """A new request id. It begins with the time in milliseconds, which locates it in the logs."""
    return f"req_{time.time_ns() // 1_000_000:012x}{os.urandom(5).hex()}"


def started_at(request: str) -> datetime | None:
    """The start of the request; None for an id that this service cannot have generated."""
    match = _REQUEST.fullmatch(request)
    if match is None:
        return None
    seconds = int(match[1], 16) / 1000
    return datetime.fromtimestamp(seconds, UTC) if seconds < _NEVER else None
