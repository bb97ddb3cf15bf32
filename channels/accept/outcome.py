"""The outcome of a send, as reported to its sender."""

import time
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import F

from catalogue.errors import AfterEffectError, Error
from catalogue.ids import public_id
from channels.models import Message
from channels.recipients import contacts
from channels.vendor_accounts import registry
from channels.waiting.outcome_signals import Signal

PAUSE = 0.05  # seconds
CALL_GRACE = 2.0  # seconds past SEND_WAIT after which a call without a response must have died


@dataclass(frozen=True, slots=True)
class SendOutcome:
    """The outcome of a send as reported to its sender."""

    message_id: UUID
    phone: str
    channel: str
    state: str
    cost: int
    is_test: bool

    @classmethod
    def of(cls, message: Message) -> "SendOutcome":
        is_test = message.mode == "test"
        return cls(
            message.pk, message.phone, message.channel, message.state, message.price, is_test
        )


def first_outcome(accepted: SendOutcome, signal: Signal | None) -> SendOutcome:
    """The first outcome of an accepted send; raises AfterEffectError if that is a failure.

    Without a signal, which may have been lost, the outcome is read from the database.
    """
    outcome = signal or _read(accepted.message_id)
    channel = outcome.channel or accepted.channel
    raise_if_failed(accepted.message_id, outcome.state, channel, outcome.error)
    cost = accepted.cost if outcome.cost is None else outcome.cost
    return replace(accepted, channel=channel, state=outcome.state, cost=cost)


def _read(message_id: UUID) -> Signal:
    rows = Message.objects.filter(pk=message_id)
    row = rows.values("state", "channel", "error", cost=F("price")).first()
    return Signal(
        message_id, **(row or {"state": Message.State.QUEUED, "channel": "", "error": ""})
    )


def raise_if_failed(message_id: UUID, state: str, channel: str, error: str) -> None:
    """Turns a failure during the wait into an error of the call."""
    if state not in Message.FAILED_STATES:
        return
    fields: dict[str, Any] = {"id": public_id("msg", message_id), "channel": channel}
    if error != "recipient_unreachable":
        raise AfterEffectError(Error.DELIVERY_FAILED, **fields)
    has_bot = registry.needs_contact(channel)
    invitation = contacts.error_fields(message_id) if has_bot else {}
    raise AfterEffectError(Error.RECIPIENT_UNREACHABLE, **fields, **invitation)


def is_response_known(message: Message) -> bool:
    """Whether the call that created this message has its response, or ended without one."""
    age = time.time() - message.created_at.timestamp()
    return message.state != Message.State.QUEUED or age > settings.SEND_WAIT + CALL_GRACE


class WaitForFirstSend:
    """The wait of a repeated request for the first send, which may be committing."""

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds

    @property
    def has_ended(self) -> bool:
        return time.monotonic() > self._until

    def pause(self) -> None:
        connection.close()  # nothing is held while the first send is written
        time.sleep(PAUSE)
