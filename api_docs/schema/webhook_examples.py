"""What webhooks look like: an example of each event, and one signed from beginning to end."""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

from accounts.models import EventKind
from accounts.webhooks import deliveries, http_call, signing
from config.ids import parse_id

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105 - published, to try one's code on
EVENT_ID = "evt_0192f0c1a6dd7b5c8d6e7f8091021324"
SIGNED_AT = datetime(2026, 11, 20, 10, 15, 14, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Signed:
    headers: dict[str, str]
    body: str
    secret: str


@cache
def data_of(kind: EventKind) -> dict[str, Any]:
    """The data of an example, made once, so that a page stays the same."""
    data = deliveries.example(kind.value, is_test=False)
    return {name: value for name, value in data.items() if name != "example"}


@cache
def signed() -> Signed:
    """A small event with a published secret: whoever checks signatures can try theirs on it."""
    event_id = parse_id("evt", EVENT_ID)
    assert event_id is not None  # noqa: S101 - it is written above
    data = {"available": 96, "threshold": 100, "test": False}
    body = http_call.body_of(event_id, EventKind.BALANCE_LOW.value, SIGNED_AT, data)
    headers = signing.headers([SECRET], EVENT_ID, body, SIGNED_AT)
    return Signed(headers, body.decode(), SECRET)


def whole(kind: EventKind) -> dict[str, Any]:
    """An event as it is posted."""
    return {
        "id": EVENT_ID,
        "type": kind.value,
        "timestamp": "2026-11-20T10:15:14Z",
        "data": data_of(kind),
    }
