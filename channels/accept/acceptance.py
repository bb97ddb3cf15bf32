"""Accepts a message: counts it against the limits, commits it and waits for its first outcome."""

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from uuid import UUID

import orjson
import psycopg
from django.conf import settings
from django.db import IntegrityError, connection

from accounts.keys.principal import Principal
from api import idempotency, rate_limit
from api.idempotency import IdempotencyKey
from billing.budgets import budgets
from billing.budgets.budgets import KeyLimit
from catalogue.errors import DomainError, Error
from catalogue.ids import uuid7
from catalogue.languages import message_languages
from channels.accept import send_limits
from channels.accept.outcome import SendOutcome, first_outcome
from channels.accept.send_limits import UntriedChannel
from channels.models import stored_fields
from channels.phone_numbers import country_of
from channels.providers.base import Content
from channels.routing import scripted_numbers
from channels.routing.channel_plan import ChannelPlan, SendRequest
from channels.waiting import outcome_signals, wakeups
from channels.waiting.outcome_signals import Signal
from processes.monitoring import tracing
from storage.statements.named_rows import Row
from storage.statements.single_statement import fetch_rows

MAX_TRIES = 5  # runs of the statement that conflict with slugs or verifications of other sends
WrittenT = TypeVar("WrittenT")
_MONTH = re.compile(r"_\d{4}_\d{2}$")


@dataclass(frozen=True, slots=True)
class Sender:
    """The sender, and the fields of the request that are stored with the message."""

    principal: Principal
    request_id: str
    idempotency_key: IdempotencyKey | None = None
    own_key_hash: str = ""  # detects a repeat in place of that key
    # The `time.monotonic()` at which the wait for the first outcome ends; None: SEND_WAIT decides.
    answer_by: float | None = None

    @property
    def wait_seconds(self) -> float:
        """The seconds to wait for the first outcome."""
        longest: float = settings.SEND_WAIT
        if self.answer_by is None:
            return longest
        return min(max(0.0, self.answer_by - time.monotonic()), longest)

    @property
    def key_hash(self) -> str:
        if self.own_key_hash:
            return self.own_key_hash
        return self.idempotency_key.short_hash if self.idempotency_key else ""


@dataclass(frozen=True, slots=True)
class NewMessage:
    kind: str
    sender: Sender
    request: SendRequest
    plan: ChannelPlan
    id: UUID = field(default_factory=uuid7)

    @property
    def counted(self) -> send_limits.Send:
        principal = self.sender.principal
        phone = self.request.phone
        return send_limits.Send(
            self.id, principal.company_id, principal.mode, self.kind, phone, principal.own_limits
        )

    def params(self) -> dict[str, Any]:
        """The parameters that both `send.sql` share, and `time_zone` for `hold_wallet.sql`."""
        principal = self.sender.principal
        idempotency_key = self.sender.idempotency_key
        return {
            "message_id": self.id,
            "company_id": principal.company_id,
            "api_key_id": principal.key_id or None,
            "mode": principal.mode,
            "kind": self.kind,
            "content": self.request.content.value,
            "channel": self.plan.channel.name,
            "chain": self.plan.chain,
            "patience": self.plan.patience,
            "phone": self.request.phone,
            "locale": self.request.locale,
            "request_id": self.sender.request_id,
            **stored_fields.of_request(self.request, self.kind),
            "price": self.plan.price,
            "segments": self.plan.segments,
            "priority": 0 if self.kind == "code" else 1,
            "hold_seconds": settings.HOLD_DEADLINE[self.kind],
            **budgets.params(
                principal.budgets, country_of(self.request.phone), principal.day_limit
            ),
            **(idempotency_key.params if idempotency_key else idempotency.NO_PARAMS),
        }


def text_settings(principal: Principal, locale: str) -> dict[str, str]:
    """The company's settings that a message's `params` keep: they may change before it is sent.

    They are the brand and, if none of our languages is near the tag, the company's language.
    """
    if message_languages.has_match(locale):
        return {"brand": principal.brand}
    return {
        "brand": principal.brand,
        "language": message_languages.match(locale, principal.language),
    }


class FundsReturnedError(Exception):
    """The payment was refused but would succeed now: tokens or budget have been returned."""


def payment_refusal(message: NewMessage) -> Exception:
    """The reason of a refused payment, read again: the statement saw an older balance."""
    principal = message.sender.principal
    phone = message.request.phone
    return refusal_of_price(principal, phone, message.plan.price) or FundsReturnedError()


def refusal_of_price(principal: Principal, phone: str, price: int) -> DomainError | None:
    """The reason why the wallet cannot pay this; None if it can now."""
    return budgets.refusal(
        principal.company_id,
        budgets=principal.budgets,
        country=country_of(phone),
        price=price,
        key=KeyLimit(principal.key_id, principal.day_limit),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedSend(ABC, Generic[WrittenT]):
    """A message, ready for its one commit."""

    message: NewMessage
    untried: UntriedChannel | None = None
    retried_on: Collection[str] = ()  # constraints: when one fails, `write` runs again

    @abstractmethod
    def write(self) -> WrittenT:
        """Commits; if it raises, nothing was written."""


def accept_and_wait(prepared: PreparedSend[WrittenT]) -> tuple[WrittenT, SendOutcome]:
    """Returns the result of `write` and the first outcome; raises AfterEffectError for a failure.

    The database connection is closed before the wait, and free for other requests.
    """
    message = prepared.message
    plan = prepared.message.plan
    principal = message.sender.principal
    phone = message.request.phone
    if principal.is_test:
        _take_quota(principal, message.request.content)
    waits_for_outcome = not scripted_numbers.is_scripted(principal, phone, scripted_numbers.QUEUED)
    waiting = outcome_signals.waiter(message.id, principal.company_id)
    with waiting if waits_for_outcome else nullcontext() as waiter:
        written = _commit(prepared)
        wakeups.wake_workers()
        if waiter:
            connection.close()
        queued = Signal(message.id, "queued", "", "")
        signal = waiter.wait(message.sender.wait_seconds) if waiter else queued
    accepted = SendOutcome(
        message.id, phone, plan.channel.name, "queued", plan.price, principal.is_test
    )
    return written, first_outcome(accepted, signal)


def _take_quota(principal: Principal, content: Content) -> None:
    rate_limit.consume_test_quota(principal.company_id, "messages")
    if content.has_link:
        rate_limit.consume_test_quota(principal.company_id, "links")


def _commit(prepared: PreparedSend[WrittenT]) -> WrittenT:
    """Counts the message against the limits, and commits it."""
    message = prepared.message
    with send_limits.acquire(
        message.counted, key_hash=message.sender.key_hash, untried=prepared.untried
    ) as each_try:
        trace_start = tracing.start()
        for tries_left in reversed(range(MAX_TRIES)):
            try:
                with each_try():
                    written = prepared.write()
            except (FundsReturnedError, IntegrityError) as error:
                if not _may_retry(error, prepared.retried_on):
                    raise
                if not tries_left:
                    raise DomainError(Error.UNAVAILABLE, retry_after=1) from None
            else:
                if trace_start:
                    tracing.record_commit(message.id, trace_start)
                return written
    raise AssertionError("the last try returns or raises")


def _may_retry(error: Exception, retried_on: Collection[str]) -> bool:
    if isinstance(error, IntegrityError):
        return violated_constraint(error) in retried_on
    return isinstance(error, FundsReturnedError)


def first_row(statement: str, params: Mapping[str, Any], kind: Callable[..., Row]) -> Row:
    """The first row of a statement that returns at least one.

    JSON parameters are given as dicts and lists.
    """
    written = {
        name: orjson.dumps(params[name]).decode()
        for name in ("params", "chain", "binding")
        if params.get(name) is not None
    }
    return fetch_rows(statement, {**params, **written}, kind)[0]


def violated_constraint(error: IntegrityError) -> str:
    """The name of the violated constraint, without the month that a partition's index adds."""
    cause = error.__cause__
    name = cause.diag.constraint_name if isinstance(cause, psycopg.Error) else None
    return _MONTH.sub("", name or "")
