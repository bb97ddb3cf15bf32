"""A send, from its place under the limits to its first outcome.

What is sent is the caller's business (otp, links): it brings the statement that writes its own
rows and the message in one commit. What is the same for all is here.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson
import psycopg
from django.conf import settings
from django.db import IntegrityError, connection

from accounts.idempotency import Ticket
from accounts.keys import Principal
from billing import ledger
from channels import limits, nudge, waiting
from channels.models import Message
from channels.phones import country_of
from channels.providers.base import Channel, Content
from config.errors import AfterEffectError, DomainError, Error
from config.ids import public_id

STILL_RUNNING = 2.0  # seconds past SEND_WAIT after which a call without an answer has died


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sends, and what of the request the message keeps."""

    principal: Principal
    request_id: str
    ticket: Ticket | None = None

    @property
    def mark(self) -> str:
        return self.ticket.mark if self.ticket else ""


def price(channel: Channel, mode: str) -> int:
    return 0 if mode == "test" else int(settings.PRICES[channel.value])


def too_few_tokens(principal: Principal, channel: Channel) -> DomainError:
    """With the balance as it is now: the refusing statement saw an older one."""
    available, _held = ledger.balance(principal.company_id)
    return DomainError(
        Error.INSUFFICIENT_TOKENS, required=price(channel, principal.mode), available=available
    )


def check_country(principal: Principal, phone: str) -> None:
    if principal.allowed_countries and country_of(phone) not in principal.allowed_countries:
        raise DomainError(Error.COUNTRY_NOT_ALLOWED)


def message_params(
    *, sender: Sender, message_id: UUID, kind: str, content: Content, channel: Channel,
    phone: str, locale: str, chain: list[str]
) -> dict[str, Any]:  # fmt: skip
    """What `sql.MESSAGE` and `ledger.HOLD_TRANSFER` need of every send."""
    principal = sender.principal
    return {
        "message_id": message_id,
        "company_id": principal.company_id,
        "api_key_id": principal.key_id,
        "mode": principal.mode,
        "kind": kind,
        "content": content.value,
        "channel": channel.value,
        "chain": chain,
        "phone": phone,
        "locale": locale,
        "request_id": sender.request_id,
        "price": price(channel, principal.mode),
        "segments": 1,
        "priority": 0 if kind == "code" else 1,
        "hold_seconds": settings.HOLD_DEADLINE[kind],
        "hold_key": ledger.hold_key(message_id),
    }


def deliver(*, order: limits.Send, mark: str, accept: Callable[[], None]) -> waiting.Signal | None:
    """Take a place under the limits, accept, and wait for the first outcome.

    `accept` is one commit; if it refuses nothing was written. While the send waits its database
    connection serves others.
    """
    with waiting.waiter(order.id) as waiter:
        with limits.place(order, mark=mark):
            accept()
        nudge.wake()
        if waiter is None:
            return waiting.Signal(order.id, "queued", "", "")
        connection.close()
        return waiter.wait(settings.SEND_WAIT)


def execute(statement: str, params: Mapping[str, Any]) -> tuple[Any, ...]:
    """The first row of a statement; JSON goes in as dicts and lists. Empty for no rows."""
    values = {
        name: orjson.dumps(value).decode() if name in {"params", "chain"} else value
        for name, value in params.items()
    }
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return tuple(cursor.fetchone() or ()) if cursor.description else ()


def violated(error: IntegrityError) -> str:
    """The name of the constraint that refused, as Postgres reports it."""
    cause = error.__cause__
    name = cause.diag.constraint_name if isinstance(cause, psycopg.Error) else None
    return name or ""


def first_outcome(message_id: UUID, signal: waiting.Signal | None) -> tuple[str, str, str]:
    """(state, channel, error); read once more when no signal came, for one may be lost."""
    if signal is not None:
        return signal.state, signal.channel, signal.error
    row = Message.objects.filter(pk=message_id).values_list("state", "channel", "error").first()
    return row or ("queued", "", "")


def raise_if_failed(message_id: UUID, state: str, channel: str, error: str) -> None:
    """A message that ended badly while its sender waited is an error to the sender."""
    if state not in {"failed", "expired"}:
        return
    refusal = Error.RECIPIENT_UNREACHABLE if error == "recipient_unreachable" else None
    raise AfterEffectError(
        refusal or Error.DELIVERY_FAILED, id=public_id("msg", message_id), channel=channel
    )


def is_over(message: Message) -> bool:
    """Whether the call that made this message can no longer be running."""
    age = time.time() - message.created_at.timestamp()
    return message.state != "queued" or age > settings.SEND_WAIT + STILL_RUNNING
