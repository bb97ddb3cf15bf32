"""Messages brought to a point of their life by the code that brings them there."""

from datetime import timedelta
from uuid import uuid4

from django.db.models import F

from channels.deliver import claims
from channels.lifecycle.state_machine import Event, EventKind
from channels.models import Attempt, Message
from channels.outcomes import apply
from channels.vendor_accounts import availability
from config.ids import parse_id
from tests.api.clients import Answer, Api

PHONE = "+79161234567"
A_MINUTE = timedelta(minutes=1)


def send(api: Api, phone: str = PHONE, **fields: object) -> Message:
    """Accepted, its tokens held, waiting for a worker."""
    return message_of(api.post("/otp/send", {"phone": phone} | fields))


def message_of(answer: Answer) -> Message:
    message_id = parse_id("msg", answer.body["id"])
    assert message_id is not None
    return Message.objects.get(pk=message_id)


def submitted(api: Api, phone: str = PHONE, **fields: object) -> Attempt:
    """Claimed by a worker that is calling the vendor."""
    message = send(api, phone, **fields)
    claim()
    return Attempt.objects.get(message=message)


def accepted(api: Api, phone: str = PHONE, **fields: object) -> Attempt:
    """Taken by the vendor, who gave it an id."""
    attempt = submitted(api, phone, **fields)
    apply.apply([Event(attempt.id, EventKind.ACCEPTED, provider_id=f"vendor-{uuid4()}")])
    attempt.refresh_from_db()
    return attempt


def claim(limit: int = 32) -> list[claims.ClaimedMessage]:
    """What is due by now: within one test all of it is younger than its transaction. By a worker
    that has just looked at the accounts.
    """
    Message.objects.filter(due_at__isnull=False).update(due_at=F("created_at") - A_MINUTE)
    availability.reset()
    return claims.claim(limit)
