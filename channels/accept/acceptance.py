"""Accepts a send: from the rate limits to its first outcome.

otp and links subclass `Acceptance` with the statement that writes their own rows and the message
in one commit; everything that all sends share is here.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar
from uuid import UUID

import orjson
import psycopg
from django.conf import settings
from django.db import IntegrityError, connection
from django.db.models import F
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.api import test_quotas
from accounts.api.idempotency import IdempotencyKey
from accounts.keys.api_keys import Principal
from billing.budgets import budgets
from billing.wallet import ledger
from channels import wakeups
from channels.accept import send_limits
from channels.lifecycle.steps import Step
from channels.models import Message
from channels.phone_numbers import country_of
from channels.providers.base import Content
from channels.recipients import bot_invitations
from channels.routing import channel_choice, test_numbers
from channels.vendor_accounts import registry
from channels.waiting import outcome_signals
from config.channels import BY_NAME, Channel
from config.errors import AfterEffectError, DomainError, Error
from config.ids import public_id, uuid7
from config.named_rows import Row, fetch_all

MAX_TRIES = 5  # of the statement, when it conflicts with slugs or verifications of others
CALL_GRACE = 2.0  # seconds past SEND_WAIT after which an unanswered call must have died


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sends, and which fields of the request are stored with the message."""

    principal: Principal
    request_id: str
    idempotency_key: IdempotencyKey | None = None

    @property
    def mark(self) -> str:
        return self.idempotency_key.short_hash if self.idempotency_key else ""


def price(channel: Channel, mode: str) -> int:
    return 0 if mode == "test" else int(settings.PRICES[channel.name])


class FundsReturnedError(Exception):
    """The payment was refused but would succeed now: tokens or budget have been returned."""


def payment_refusal(principal: Principal, channel: Channel, phone: str) -> Exception:
    """Reads the reason anew: the statement that refused saw an older balance."""
    cost = price(channel, principal.mode)
    refusal = budgets.refusal(
        principal.company_id, budgets=principal.budgets, country=country_of(phone), price=cost
    )
    return refusal or FundsReturnedError()


def check_country(principal: Principal, phone: str) -> None:
    """Enforces the company's allowed countries; test keys spend no money, so they are exempt."""
    allowed, country = principal.allowed_countries, country_of(phone)
    if allowed and country not in allowed and not principal.is_test:
        name = country or phone[:4]
        raise DomainError(
            Error.COUNTRY_NOT_ALLOWED,
            message=format_lazy(
                _(
                    "Sending to this country ({name}) is not switched on: add it in the cabinet, "
                    "Settings → Allowed countries"
                ),
                name=name,
            ),
            country=country,
        )


class SendRequest(Protocol):
    """A validated request to send."""

    @property
    def phone(self) -> str: ...
    @property
    def locale(self) -> str: ...
    @property
    def channel(self) -> str | None:
        """The channel that the request names, if any."""

    @property
    def content(self) -> Content: ...


RequestT = TypeVar("RequestT", bound=SendRequest)


class Acceptance(ABC, Generic[RequestT]):
    """A send about to be accepted; otp and links add the rows they write with its message.

    The constructor raises every refusal that needs no counter.
    """

    kind: ClassVar[str]
    segments = 1

    def __init__(self, sender: Sender, request: RequestT) -> None:
        principal = sender.principal
        test_numbers.refuse_scripted(principal, request.phone)
        check_country(principal, request.phone)
        self.sender, self.request = sender, request
        self.message_id = uuid7()
        self.channel = channel_choice.choose_channel(
            named=request.channel,
            default=principal.default_channel,
            content=request.content,
            mode=principal.mode,
            phone=request.phone,
            fallback=principal.fallback,
        )
        self.price = price(self.channel, principal.mode)
        self.chain = self._without_oversized_sms(self._fallback_steps())

    def _fallback_steps(self) -> list[Step]:
        """The fallback chain at today's prices."""
        request, principal = self.request, self.sender.principal
        fallback = test_numbers.fallback(
            principal, request.phone, named=request.channel, channel=self.channel
        )
        if fallback is None:
            return []
        return [
            Step(
                channel.name,
                price(channel, principal.mode),
                channel_choice.patience(fallback, channel, self.kind),
            )
            for channel in channel_choice.fallback_channels(
                self.channel, fallback, request.content, principal.mode
            )
        ]

    def _without_oversized_sms(self, steps: list[Step]) -> list[Step]:
        """Drops the SMS step if the text is too long for it; raises if SMS is the first channel."""
        is_first = self.channel.has_segments
        without = [step for step in steps if not BY_NAME[step.channel].has_segments]
        if not is_first and len(without) == len(steps):
            return steps
        self.segments = self.count_segments()
        if self.segments <= settings.MAX_SMS_SEGMENTS:
            return steps
        if is_first:
            raise self.too_long()
        self.segments = 1
        return without

    @abstractmethod
    def count_segments(self) -> int:
        """The number of SMS segments of the text."""

    @abstractmethod
    def too_long(self) -> DomainError:
        """The error for a text that exceeds the SMS limit."""

    @abstractmethod
    def execute(self) -> None:
        """Commits one statement or raises a refusal; IntegrityError when a parallel send won."""

    @abstractmethod
    def is_retryable(self, constraint: str) -> bool:
        """Whether a retry can succeed after this constraint failed."""

    def accept(self) -> None:
        for tries_left in reversed(range(MAX_TRIES)):
            try:
                self.execute()
            except FundsReturnedError:
                if not tries_left:
                    raise DomainError(Error.UNAVAILABLE, retry_after=1) from None
            except IntegrityError as error:
                if not tries_left or not self.is_retryable(violated_constraint(error)):
                    raise
            else:
                return

    def params(self) -> dict[str, Any]:
        """What `sql.INSERT_MESSAGE`, `ledger.HOLD_TRANSFER` and `idempotency.INSERT` need."""
        principal, idempotency_key = self.sender.principal, self.sender.idempotency_key
        return {
            "message_id": self.message_id,
            "company_id": principal.company_id,
            "api_key_id": principal.key_id or None,
            "mode": principal.mode,
            "kind": self.kind,
            "content": self.request.content.value,
            "channel": self.channel.name,
            "chain": self.chain,
            "patience": self._patience(),
            "phone": self.request.phone,
            "locale": self.request.locale,
            "request_id": self.sender.request_id,
            "price": self.price,
            "segments": self.segments,
            "priority": 0 if self.kind == "code" else 1,
            "hold_seconds": settings.HOLD_DEADLINE[self.kind],
            "hold_key": ledger.hold_key(self.message_id),
            **budgets.params(principal.budgets, country_of(self.request.phone)),
            **(idempotency_key.params if idempotency_key else {}),
        }

    def _patience(self) -> float | None:
        """Seconds the first channel has to prove delivery; None without a fallback."""
        if not self.chain:
            return None
        return channel_choice.patience(self.sender.principal.fallback, self.channel, self.kind)


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


def send(acceptance: Acceptance[Any]) -> SendOutcome:
    """Accepts and waits for the first outcome; raises AfterEffectError if that is a failure."""
    principal = acceptance.sender.principal
    if principal.is_test:
        _take_quota(principal, acceptance.request.content)
    limited = send_limits.Send(
        acceptance.message_id,
        principal.company_id,
        principal.mode,
        acceptance.kind,
        acceptance.request.phone,
        principal.own_limits,
    )
    signal = accept_and_wait(
        send=limited,
        mark=acceptance.sender.mark,
        accept=acceptance.accept,
        waits=not test_numbers.is_scripted(principal, limited.phone, test_numbers.QUEUED),
    )
    outcome = first_outcome(acceptance.message_id, signal)
    channel = outcome.channel or acceptance.channel.name
    raise_if_failed(acceptance.message_id, outcome.state, channel, outcome.error)
    return SendOutcome(
        acceptance.message_id,
        acceptance.request.phone,
        channel,
        outcome.state,
        acceptance.price if outcome.cost is None else outcome.cost,
        principal.is_test,
    )


def _take_quota(principal: Principal, content: Content) -> None:
    test_quotas.consume(principal.company_id, "messages")
    if content is not Content.CODE:
        test_quotas.consume(principal.company_id, "links")


def accept_and_wait(
    *, send: send_limits.Send, mark: str, accept: Callable[[], None], waits: bool
) -> outcome_signals.Signal | None:
    """Counts the send against the limits, accepts it and waits for the first outcome.

    `accept` is one commit; if it raises, nothing was written. The database connection is closed
    before the wait, so that it serves others.
    """
    with outcome_signals.waiter(send.id) if waits else nullcontext() as waiter:
        with send_limits.acquire(send, mark=mark):
            accept()
        wakeups.wake_workers()
        if waiter is None:
            return outcome_signals.Signal(send.id, "queued", "", "")
        connection.close()
        return waiter.wait(settings.SEND_WAIT)


def first_row(statement: str, params: Mapping[str, Any], kind: Callable[..., Row]) -> Row:
    """The first row of a statement that returns at least one; JSON goes in as dicts and lists."""
    values = {
        name: orjson.dumps(value).decode() if name in {"params", "chain"} else value
        for name, value in params.items()
    }
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return fetch_all(cursor, kind)[0]


def violated_constraint(error: IntegrityError) -> str:
    """The name of the violated constraint, as Postgres reports it."""
    cause = error.__cause__
    name = cause.diag.constraint_name if isinstance(cause, psycopg.Error) else None
    return name or ""


def first_outcome(
    message_id: UUID, signal: outcome_signals.Signal | None
) -> outcome_signals.Signal:
    """Read from the database without a signal: it may be lost."""
    if signal is not None:
        return signal
    rows = Message.objects.filter(pk=message_id)
    found = rows.values("state", "channel", "error", cost=F("price")).first()
    if found is None:
        return outcome_signals.Signal(message_id, "queued", "", "")
    return outcome_signals.Signal(message_id, **found)


def raise_if_failed(message_id: UUID, state: str, channel: str, error: str) -> None:
    """Turns a failure during the wait into an error of the call."""
    if state not in {"failed", "expired"}:
        return
    fields: dict[str, Any] = {"id": public_id("msg", message_id), "channel": channel}
    if error != "recipient_unreachable":
        raise AfterEffectError(Error.DELIVERY_FAILED, **fields)
    has_bot = registry.needs_contact(channel)
    invitation = bot_invitations.error_fields(message_id) if has_bot else {}
    raise AfterEffectError(Error.RECIPIENT_UNREACHABLE, **fields, **invitation)


def is_call_over(message: Message) -> bool:
    """Whether the call that created this message can no longer be running."""
    age = time.time() - message.created_at.timestamp()
    return message.state != "queued" or age > settings.SEND_WAIT + CALL_GRACE
