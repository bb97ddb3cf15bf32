"""A send, from its place under the limits to its first outcome.

What is sent is the caller's business (otp, links): it brings the statement that writes its own
rows and the message in one commit. What is the same for all is here.
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

from accounts.api import test_quotas
from accounts.api.idempotency import IdempotencyKey
from accounts.keys.api_keys import Principal
from billing.budgets import budgets
from billing.wallet import ledger
from channels.accept import nudge, outcome_waiting, routing, send_limits, test_numbers
from channels.lifecycle.steps import Step
from channels.models import Message
from channels.phone_numbers import country_of
from channels.providers.base import Channel, Content
from channels.recipients import bot_invitations
from config.errors import AfterEffectError, DomainError, Error
from config.ids import public_id, uuid7

MAX_TRIES = 5  # at the statement, when slugs or verifications of others are in its way
CALL_GRACE = 2.0  # seconds past SEND_WAIT after which a call without an answer has died


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sends, and what of the request the message keeps."""

    principal: Principal
    request_id: str
    idempotency_key: IdempotencyKey | None = None

    @property
    def mark(self) -> str:
        return self.idempotency_key.short_hash if self.idempotency_key else ""


def price(channel: Channel, mode: str) -> int:
    return 0 if mode == "test" else int(settings.PRICES[channel.value])


class FundsReturnedError(Exception):
    """What was not paid for would be now: tokens, or room in a budget, came back."""


def payment_refusal(principal: Principal, channel: Channel, phone: str) -> Exception:
    """Why, as it is now: the refusing statement saw an older balance."""
    cost = price(channel, principal.mode)
    refusal = budgets.refusal(
        principal.company_id, budgets=principal.budgets, country=country_of(phone), price=cost
    )
    return refusal or FundsReturnedError()


def check_country(principal: Principal, phone: str) -> None:
    """The company's countries hold where money is spent: test keys are free everywhere."""
    allowed, country = principal.allowed_countries, country_of(phone)
    if allowed and country not in allowed and not principal.is_test:
        name = country or phone[:4]
        raise DomainError(
            Error.COUNTRY_NOT_ALLOWED,
            message=(
                f"Отправка в эту страну ({name}) не включена: добавьте её в кабинете, "
                "«Настройки» → «Разрешённые страны»",
                f"Sending to this country ({name}) is not switched on: add it in the cabinet, "
                "Settings → Allowed countries",
            ),
            country=country,
        )


class SendRequest(Protocol):
    """A request to send, its fields checked."""

    @property
    def phone(self) -> str: ...
    @property
    def locale(self) -> str: ...
    @property
    def channel(self) -> str | None:
        """The one that was named."""

    @property
    def content(self) -> Content: ...


RequestT = TypeVar("RequestT", bound=SendRequest)


class Acceptance(ABC, Generic[RequestT]):
    """A send that is about to be accepted: otp and links say what they write with its message.

    Made of a sender and an order, it refuses what can be refused before anything is counted.
    """

    kind: ClassVar[str]
    segments = 1

    def __init__(self, sender: Sender, order: RequestT) -> None:
        principal = sender.principal
        test_numbers.refuse_scripted(principal, order.phone)
        check_country(principal, order.phone)
        self.sender, self.order = sender, order
        self.message_id = uuid7()
        self.channel = routing.choose_channel(
            named=order.channel,
            default=principal.default_channel,
            content=order.content,
            mode=principal.mode,
            phone=order.phone,
            fallback=principal.fallback,
        )
        self.price = price(self.channel, principal.mode)
        self.chain = self._fitting(self._steps())

    def _steps(self) -> list[Step]:
        """What the message may fall back to, at what it costs now."""
        order, principal = self.order, self.sender.principal
        fallback = test_numbers.fallback(
            principal, order.phone, named=order.channel, channel=self.channel
        )
        if fallback is None:
            return []
        return [
            Step(one.value, price(one, principal.mode), routing.patience(fallback, one, self.kind))
            for one in routing.fallback_channels(
                self.channel, fallback, order.content, principal.mode
            )
        ]

    def _fitting(self, steps: list[Step]) -> list[Step]:
        """Without an SMS that the text is too long for; refused when the SMS was to be first."""
        is_first = self.channel is Channel.SMS
        if not is_first and all(one.channel != Channel.SMS for one in steps):
            return steps
        self.segments = self.count_segments()
        if self.segments <= settings.MAX_SMS_SEGMENTS:
            return steps
        if is_first:
            raise self.too_long()
        self.segments = 1
        return [one for one in steps if one.channel != Channel.SMS]

    @abstractmethod
    def count_segments(self) -> int:
        """How many SMS its text takes."""

    @abstractmethod
    def too_long(self) -> DomainError:
        """Why it cannot go by SMS."""

    @abstractmethod
    def execute(self) -> None:
        """One statement, one commit, or a refusal; IntegrityError when somebody was faster."""

    @abstractmethod
    def may_try_again(self, constraint: str) -> bool:
        """Whether another slug or another look can help after this constraint refused."""

    def accept(self) -> None:
        for left in reversed(range(MAX_TRIES)):
            try:
                self.execute()
            except FundsReturnedError:
                if not left:
                    raise DomainError(Error.UNAVAILABLE, retry_after=1) from None
            except IntegrityError as error:
                if not left or not self.may_try_again(violated_constraint(error)):
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
            "content": self.order.content.value,
            "channel": self.channel.value,
            "chain": self.chain,
            "patience": self._patience(),
            "phone": self.order.phone,
            "locale": self.order.locale,
            "request_id": self.sender.request_id,
            "price": self.price,
            "segments": self.segments,
            "priority": 0 if self.kind == "code" else 1,
            "hold_seconds": settings.HOLD_DEADLINE[self.kind],
            "hold_key": ledger.hold_key(self.message_id),
            **budgets.params(principal.budgets, country_of(self.order.phone)),
            **(idempotency_key.params if idempotency_key else {}),
        }

    def _patience(self) -> float | None:
        """Seconds for a proof by the first channel; None where no other follows."""
        if not self.chain:
            return None
        return routing.patience(self.sender.principal.fallback, self.channel, self.kind)


@dataclass(frozen=True, slots=True)
class SendOutcome:
    """What became of a send, as far as its sender is told."""

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
    """Accept, and wait for the first outcome; AfterEffectError when that is a failure."""
    principal = acceptance.sender.principal
    if principal.is_test:
        _take_quota(principal, acceptance.order.content)
    place = send_limits.Send(
        acceptance.message_id,
        principal.company_id,
        principal.mode,
        acceptance.kind,
        acceptance.order.phone,
        principal.own_limits,
    )
    signal = accept_and_wait(
        order=place,
        mark=acceptance.sender.mark,
        accept=acceptance.accept,
        waits=not test_numbers.is_scripted(principal, place.phone, test_numbers.QUEUED),
    )
    state, channel, error, cost = first_outcome(acceptance.message_id, signal)
    channel = channel or acceptance.channel.value
    raise_if_failed(acceptance.message_id, state, channel, error)
    cost = acceptance.price if cost is None else cost
    return SendOutcome(
        acceptance.message_id, acceptance.order.phone, channel, state, cost, principal.is_test
    )


def _take_quota(principal: Principal, content: Content) -> None:
    test_quotas.consume(principal.company_id, "messages")
    if content is not Content.CODE:
        test_quotas.consume(principal.company_id, "links")


def accept_and_wait(
    *, order: send_limits.Send, mark: str, accept: Callable[[], None], waits: bool
) -> outcome_waiting.Signal | None:
    """Take a place under the limits, accept, and wait for the first outcome.

    `accept` is one commit; if it refuses nothing was written. While the send waits its database
    connection serves others.
    """
    with outcome_waiting.waiter(order.id) if waits else nullcontext() as waiter:
        with send_limits.acquire(order, mark=mark):
            accept()
        nudge.wake()
        if waiter is None:
            return outcome_waiting.Signal(order.id, "queued", "", "")
        connection.close()
        return waiter.wait(settings.SEND_WAIT)


def first_row(statement: str, params: Mapping[str, Any]) -> tuple[Any, ...]:
    """Of a statement that returns some; JSON goes in as dicts and lists."""
    values = {
        name: orjson.dumps(value).decode() if name in {"params", "chain"} else value
        for name, value in params.items()
    }
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return tuple(cursor.fetchone())


def violated_constraint(error: IntegrityError) -> str:
    """The name of the constraint that refused, as Postgres reports it."""
    cause = error.__cause__
    name = cause.diag.constraint_name if isinstance(cause, psycopg.Error) else None
    return name or ""


def first_outcome(
    message_id: UUID, signal: outcome_waiting.Signal | None
) -> tuple[str, str, str, int | None]:
    """(state, channel, error, cost); read once more when no signal came, for one may be lost."""
    if signal is not None:
        return signal.state, signal.channel, signal.error, signal.cost
    found = Message.objects.filter(pk=message_id)
    return found.values_list("state", "channel", "error", "price").first() or (
        "queued",
        "",
        "",
        None,
    )


def raise_if_failed(message_id: UUID, state: str, channel: str, error: str) -> None:
    """A message that ended badly while its sender waited is an error to the sender."""
    if state not in {"failed", "expired"}:
        return
    shown: dict[str, Any] = {"id": public_id("msg", message_id), "channel": channel}
    if error != "recipient_unreachable":
        raise AfterEffectError(Error.DELIVERY_FAILED, **shown)
    help_ = bot_invitations.error_fields(message_id) if channel == Channel.TELEGRAM else {}
    raise AfterEffectError(Error.RECIPIENT_UNREACHABLE, **shown, **help_)


def is_call_over(message: Message) -> bool:
    """Whether the call that made this message can no longer be running."""
    age = time.time() - message.created_at.timestamp()
    return message.state != "queued" or age > settings.SEND_WAIT + CALL_GRACE
