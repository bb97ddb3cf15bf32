"""Messages at a stage of their lifecycle, reached through the production code."""

import time
from datetime import timedelta
from typing import Any
from uuid import uuid4

from django.db.models import F
from django.utils import timezone

from catalogue.ids import parse_id
from channels.deliver import claims, dispatcher
from channels.lifecycle.state_machine import Event, EventKind
from channels.models import Attempt, Message, Receipt
from channels.outcomes import transitions
from channels.vendor_accounts import availability
from tests.api.clients import Api, ApiResponse
from tests.factories import ReceiptFactory

PHONE = "+79161234567"
A_MINUTE = timedelta(minutes=1)


def send(api: Api, phone: str = PHONE, **fields: object) -> Message:
    """A queued message whose tokens are held."""
    return message_of(api.post("/otp/send", {"phone": phone} | fields))


def message_of(response: ApiResponse) -> Message:
    message_id = parse_id("msg", response.body["id"])
    assert message_id is not None
    return Message.objects.get(pk=message_id)


def submitted(api: Api, phone: str = PHONE, **fields: object) -> Attempt:
    """An attempt whose call to the vendor is under way."""
    message = send(api, phone, **fields)
    claim()
    return Attempt.objects.get(message=message)


def accepted(api: Api, phone: str = PHONE, **fields: object) -> Attempt:
    """An attempt that the vendor accepted and gave an id."""
    attempt = submitted(api, phone, **fields)
    apply_event(attempt, EventKind.ACCEPTED, provider_id=f"vendor-{uuid4()}")
    attempt.refresh_from_db()
    return attempt


def apply_event(attempt: Attempt, kind: EventKind, **fields: Any) -> None:
    transitions.commit_events([Event(attempt.message_id, attempt.id, kind, **fields)])


def states(attempt: Attempt) -> tuple[str, str]:
    """Returns the stored states of the attempt and its message."""
    attempt = Attempt.objects.select_related("message").get(pk=attempt.pk)
    return attempt.state, attempt.message.state


def claim(limit: int = 32) -> list[claims.ClaimedMessage]:
    """Claims as a worker with fresh account settings. Ages the messages first: those of a test are
    not older than its transaction.
    """
    Message.objects.filter(due_at__isnull=False).update(due_at=F("created_at") - A_MINUTE)
    availability.reset()
    return claims.claim(limit)


def claimed(api: Api, phone: str = PHONE, **fields: object) -> claims.ClaimedMessage:
    """A message in a worker's hands, its vendor not called yet."""
    send(api, phone, **fields)
    (message,) = claim()
    return message


def hand_over(message: claims.ClaimedMessage) -> Event:
    """Returns the event of the call to the vendor, not stored yet."""
    return dispatcher.hand_over(message, time.monotonic() + 60)


def store_due_receipt(attempt: Attempt, state: str = "delivered", **fields: Any) -> Receipt:
    """Stores a due receipt that no worker has applied yet."""
    known = {
        "attempt": None,
        "provider": attempt.provider,
        "provider_id": attempt.provider_id or "",
        "ref": None,
        "due_at": timezone.now() - timedelta(minutes=1),
    }
    made: Receipt = ReceiptFactory.create(
        **known | {"state": state, "vendor_status": state} | fields
    )
    return made
