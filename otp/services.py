"""Sending a code and checking one."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from accounts.keys.api_keys import Principal
from accounts.outbox import events as outbox
from billing.wallet.ledger import Proof
from channels.accept import acceptance as sending
from channels.accept import nudge, sms_segments, test_numbers
from channels.accept.acceptance import Outcome, Sender
from channels.lifecycle.steps import Step
from channels.models import Message
from channels.outcomes import apply, delivery_proof
from channels.providers.base import Channel, Content
from channels.vendor_accounts.registry import Codes
from config.errors import DomainError, Error
from config.ids import first_at, uuid7
from links.make.new_link import NewLink
from links.manage import changes
from otp import codes, early_expiry, guess_cap, sql
from otp.models import Verification
from otp.texts import rendering

SETTLE_BATCH = 200
CLOCKS = timedelta(minutes=10)  # by which ours and the database's may differ


@dataclass(frozen=True, slots=True)
class CodeOrder:
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
    """What the sender is told. Lengths of time are in seconds."""

    outcome: Outcome
    expires_in: int
    attempts_left: int
    short_url: str | None


def send_code(*, sender: Sender, order: CodeOrder) -> SentCode:
    """Send a code, or the same one again while it lives; refuses before anything is spent."""
    acceptance = _Acceptance(sender, order)
    outcome = sending.send(acceptance)
    return SentCode(
        outcome=outcome,
        expires_in=_whole_seconds(acceptance.expires_in),
        attempts_left=acceptance.attempts_left,
        short_url=acceptance.short_url,
    )


def _whole_seconds(left: float) -> int:
    """Of two sends at once the later may see a code made after its own clock was read."""
    return min(max(0, ceil(left)), settings.CODE_LIFETIME)


class _Acceptance(sending.Acceptance[CodeOrder]):
    """Tried again when a parallel send made its verification, or took its slug, first."""

    kind = "code"
    short_url: str | None = None
    link: NewLink | None = None
    expires_in = 0.0
    attempts_left = 0

    def _steps(self) -> list[Step]:
        steps = super()._steps()
        if self.order.link:
            self.link = self.order.link.sent_by({self.channel, *(one.channel for one in steps)})
        return steps

    def may_try_again(self, constraint: str) -> bool:
        return constraint in {"verification_one_live", "link_key_once"}

    def execute(self) -> None:
        statement = sql.send(
            is_test=self.sender.principal.is_test,
            has_link=self.link is not None,
            link_dies=self.link is not None and self.link.dies_with_code,
            has_ticket=self.sender.ticket is not None,
        )
        self._read(sending.first_row(statement, self._params()))

    def _read(self, row: tuple[Any, ...]) -> None:
        is_paid, is_blocked, is_capped, expires_in, attempts_left = row
        if not is_paid:
            raise self._refusal(is_blocked=is_blocked, is_capped=is_capped)
        self.expires_in, self.attempts_left = expires_in, attempts_left

    def _refusal(self, *, is_blocked: bool, is_capped: bool) -> Exception:
        if is_blocked:
            return DomainError(Error.RECIPIENT_UNREACHABLE)
        if is_capped:
            return guess_cap.no_new_code(self.sender.principal, self.order.phone)
        return sending.unpaid(self.sender.principal, self.channel, self.order.phone)

    def _params(self) -> dict[str, Any]:
        order, principal = self.order, self.sender.principal
        params = self.params() | _verification_params(principal, order)
        if self.link:
            params |= self.link.params()
            self.short_url = params["short_url"]
        # A message that may go on to another channel keeps its words for each of them.
        channels = list(Channel) if self.chain else [self.channel]
        params["params"] = _renderer_params(principal, order, channels, params if self.link else {})
        return params

    def count_segments(self) -> int:
        """In the text that will be sent, with a code and a slug as long as those drawn."""
        principal, order = self.sender.principal, self.order
        link = self.link
        template = rendering.template(
            principal.texts,
            channel=Channel.SMS,
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
        """The operator's short host is too long for an SMS."""
        return DomainError(Error.LINK_NOT_SUPPORTED)


def _verification_params(principal: Principal, order: CodeOrder) -> dict[str, Any]:
    verification_id, key_id = uuid7(), codes.current_key()
    code = codes.derive(verification_id, key_id=key_id, length=principal.code_length)
    is_born_dead = test_numbers.is_scripted(principal, order.phone, test_numbers.EXPIRED_CODE)
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
        "lifetime": 0 if is_born_dead else settings.CODE_LIFETIME,
        "least_use": settings.CODE_LIFETIME if is_born_dead else 0,
        "resend_margin": settings.RESEND_MARGIN,
        **guess_cap.cap_params(),
    }


def _renderer_params(
    principal: Principal, order: CodeOrder, channels: list[Channel], link: Mapping[str, Any]
) -> dict[str, Any]:
    params: dict[str, Any] = {"brand": principal.brand}
    texts = rendering.kept(
        principal.texts,
        channels=channels,
        locale=order.locale,
        purpose=order.purpose,
        has_link=bool(link),
    )
    if texts:
        params["texts"] = texts
    if not link:
        return params
    return params | {"short_url": link["short_url"], "link": link["link_id"].hex}


def check_code(*, principal: Principal, phone: str, purpose: str, code: str) -> "Verified":
    """Spend one attempt and, if the code is right, consume it; raises why not."""
    test_numbers.refuse_scripted_guess(principal, phone)
    params: dict[str, Any] = {
        "company_id": principal.company_id,
        "mode": principal.mode,
        "phone": phone,
        "purpose": purpose,
        "macs": codes.macs(
            company_id=principal.company_id,
            mode=principal.mode,
            phone=phone,
            purpose=purpose,
            code=code,
        ),
        **guess_cap.cap_params(),
    }
    with connection.cursor() as cursor:
        cursor.execute(sql.JUDGE, params)
        row = cursor.fetchone()
        if row is None:
            cursor.execute(sql.STANDING, params)
            raise guess_cap.not_judged(principal, phone, cursor.fetchone())
    verification_id, verified_at, attempts_left = row
    if verified_at is None:
        raise DomainError(Error.CODE_INVALID, attempts_left=attempts_left)
    transaction.on_commit(nudge.wake)
    return Verified(verification_id, verified_at)


@dataclass(frozen=True, slots=True)
class Verified:
    id: UUID
    verified_at: datetime


def settle_verified() -> int:
    """A right code proves a delivery: charge the cheapest open message of its verification, and
    send the code by no further channel. Links that were to live as long as the code end.
    """
    with connection.cursor() as cursor:
        cursor.execute(sql.ANY_UNSETTLED)
        is_any_right, is_any_over_early = cursor.fetchone()
    if is_any_over_early:
        early_expiry.settle_over_early()
    if not is_any_right:
        return 0
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql.UNSETTLED, [SETTLE_BATCH])
        ids = [row[0] for row in cursor.fetchall()]
        if not ids:
            return 0
        changes.end_with_codes(cursor, ids)  # links are locked before messages everywhere
        messages = delivery_proof.prove(cursor, [(one, None) for one in ids], Proof.CODE_ENTERED)
        cursor.execute(sql.SETTLED, [ids, [uuid7() for _ in ids]])
        outbox.announce(cursor.rowcount)
    apply.announce(messages)
    return len(ids)


def count_codes(
    *, start: datetime, end: datetime, company_id: int | None, mode: str | None
) -> list[Codes]:
    """What `channels.vendor_accounts.registry.count_codes` asks for."""
    made = start - timedelta(seconds=settings.CODE_LIFETIME) - CLOCKS  # at the earliest
    params: dict[str, Any] = {
        "start": start,
        "end": end,
        "first_id": first_at(made),
        "last_id": first_at(end + CLOCKS),
    }
    if company_id is not None:
        params |= {"company_id": company_id, "mode": mode}
    whose = sql.OF_ALL if company_id is None else sql.OF_ONE
    with connection.cursor() as cursor:
        cursor.execute(sql.COUNT_CODES.format(whose=whose), params)
        return [Codes(*row) for row in cursor.fetchall()]


def purge_phones(limit: int) -> int:
    """After the retention time a verification keeps its country and prefix, not its phone."""
    with connection.cursor() as cursor:
        cursor.execute(sql.ANONYMISE, [settings.PHONE_RETENTION, limit])
        return int(cursor.rowcount)


def sent_code(message: Message) -> SentCode:
    """What the sender of this message is told, read from the database."""
    verification = Verification.objects.get(pk=message.subject_id)
    left = (verification.expires_at - timezone.now()).total_seconds()
    return SentCode(
        outcome=Outcome.of(message),
        expires_in=_whole_seconds(left),
        attempts_left=verification.max_attempts - verification.attempts,
        short_url=message.params.get("short_url"),
    )
