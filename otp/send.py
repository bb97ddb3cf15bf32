"""Sends a one-time code: accepts the request, writes the verification and its message."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, NamedTuple

from django.conf import settings
from django.utils import timezone

from accounts.keys.api_keys import Principal
from channels.accept import acceptance as sending
from channels.accept.acceptance import Sender, SendOutcome
from channels.lifecycle.steps import Step
from channels.models import Message
from channels.providers.base import Content
from channels.routing import sms_segments, test_numbers
from config.channels import BY_NAME, CHANNELS, Channel
from config.errors import DomainError, Error
from config.ids import uuid7
from links import sql as links_sql
from links.make.new_link import NewLink, short_url
from otp import codes, guess_cap, sql
from otp.models import Verification
from otp.texts import rendering


@dataclass(frozen=True, slots=True)
class CodeSendRequest:
    """A request for a code, its fields checked."""

    phone: str
    purpose: str
    locale: str
    channel: str | None
    link: NewLink | None

    @property
    def content(self) -> Content:
        return Content.CODE_WITH_LINK if self.link else Content.CODE


@dataclass(frozen=True, slots=True)
class SentCode:
    """The answer to the sender. Durations are in seconds."""

    outcome: SendOutcome
    expires_in: int
    attempts_left: int
    short_url: str | None


def send_code(*, sender: Sender, order: CodeSendRequest) -> SentCode:
    """Sends a code, or resends the live one; raises a DomainError before anything is spent."""
    acceptance = _CodeAcceptance(sender, order)
    outcome = sending.send(acceptance)
    return SentCode(
        outcome=outcome,
        expires_in=_whole_seconds(acceptance.expires_in),
        attempts_left=acceptance.attempts_left,
        short_url=acceptance.short_url,
    )


def _whole_seconds(left: float) -> int:
    """A parallel send may see a code made after its own clock reading, hence the clamp."""
    return min(max(0, ceil(left)), settings.CODE_LIFETIME)


class _Accepted(NamedTuple):
    """The row of `sql.send`; the last two are of the code, None without one."""

    is_paid: bool
    is_blocked: bool
    is_capped: bool
    expires_in: float
    attempts_left: int


class _CodeAcceptance(sending.Acceptance[CodeSendRequest]):
    """Retried when a parallel send inserts the verification or takes the slug first."""

    kind = "code"
    short_url: str | None = None
    link: NewLink | None = None
    expires_in = 0.0
    attempts_left = 0

    def _fallback_steps(self) -> list[Step]:
        steps = super()._fallback_steps()
        if self.request.link:
            self.link = self.request.link.for_channels(
                {self.channel.name, *(step.channel for step in steps)}
            )
        return steps

    def is_retryable(self, constraint: str) -> bool:
        return constraint in {"verification_one_live", "link_key_once"}

    def execute(self) -> None:
        statement = sql.send(
            is_test=self.sender.principal.is_test,
            has_link=self.link is not None,
            link_dies=self.link is not None and self.link.dies_with_code,
            has_key=self.sender.idempotency_key is not None,
        )
        self._read(sending.first_row(statement, self._params(), _Accepted))

    def _read(self, row: _Accepted) -> None:
        if not row.is_paid:
            raise self._refusal(row)
        self.expires_in, self.attempts_left = row.expires_in, row.attempts_left

    def _refusal(self, row: _Accepted) -> Exception:
        if row.is_blocked:
            return DomainError(Error.RECIPIENT_UNREACHABLE)
        if row.is_capped:
            return guess_cap.send_refusal(self.sender.principal, self.request.phone)
        return sending.payment_refusal(self.sender.principal, self.channel, self.request.phone)

    def _params(self) -> dict[str, Any]:
        order, principal = self.request, self.sender.principal
        params = self.params() | _verification_params(principal, order)
        link: dict[str, str] = {}
        if self.link:
            made = self.link.row(principal)
            params |= links_sql.params(made, self.link.lifetime)
            self.short_url = short_url(made["slug"], self.link.host)
            link = {"short_url": self.short_url, "link": made["id"].hex}
        # A message with a fallback chain keeps its text for every channel.
        channels = CHANNELS if self.chain else (self.channel,)
        params["params"] = _renderer_params(principal, order, channels, link)
        return params

    def count_segments(self) -> int:
        """Counts the text with a code and a slug of the length that will be generated."""
        principal, order = self.sender.principal, self.request
        link = self.link
        template = rendering.template(
            principal.texts,
            channel=BY_NAME["sms"],
            locale=order.locale,
            purpose=order.purpose,
            has_link=link is not None,
        )
        text = rendering.fill(
            template,
            code="0" * principal.code_length,
            brand=principal.brand,
            minutes=None,
            link=link.sample_url if link else None,
        )
        return sms_segments.count(text).segments

    def too_long(self) -> DomainError:
        """Only an operator's long short host makes a code with a link too long for SMS."""
        return DomainError(Error.LINK_NOT_SUPPORTED)


def _verification_params(principal: Principal, order: CodeSendRequest) -> dict[str, Any]:
    verification_id, key_id = uuid7(), codes.current_key()
    code = codes.derive(verification_id, key_id=key_id, length=principal.code_length)
    is_born_expired = test_numbers.is_scripted(principal, order.phone, test_numbers.EXPIRED_CODE)
    return {
        "verification_id": verification_id,
        "purpose": order.purpose,
        "mac": codes.mac(
            key_id=key_id,
            company_id=principal.company_id,
            mode=principal.mode,
            phone=order.phone,
            purpose=order.purpose,
            code=code,
        ),
        "key_id": key_id,
        "key_ids": codes.known_keys(),
        "length": principal.code_length,
        "max_attempts": settings.CODE_ATTEMPTS,
        "lifetime": 0 if is_born_expired else settings.CODE_LIFETIME,
        "least_use": settings.CODE_LIFETIME if is_born_expired else 0,
        "resend_margin": settings.RESEND_MARGIN,
        **guess_cap.cap_params(),
    }


def _renderer_params(
    principal: Principal,
    order: CodeSendRequest,
    channels: Sequence[Channel],
    link: Mapping[str, str],
) -> dict[str, Any]:
    params: dict[str, Any] = {"brand": principal.brand}
    texts = rendering.snapshot(
        principal.texts,
        channels=channels,
        locale=order.locale,
        purpose=order.purpose,
        has_link=bool(link),
    )
    if texts:
        params["texts"] = texts
    return {**params, **link}


def sent_code(message: Message) -> SentCode:
    """The answer for a message that was accepted before, read from the database."""
    verification = Verification.objects.get(pk=message.subject_id)
    left = (verification.expires_at - timezone.now()).total_seconds()
    return SentCode(
        outcome=SendOutcome.of(message),
        expires_in=_whole_seconds(left),
        attempts_left=verification.max_attempts - verification.attempts,
        short_url=message.params.get("short_url"),
    )
