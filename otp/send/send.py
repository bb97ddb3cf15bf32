"""Sends a one-time code: accepts the request, writes the verification and its message.

A send is written alone, or in one statement with others that come together. The statement
(`otp/send/send.sql`) decides whether it is a resend of the live code.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Any
from uuid import UUID

import orjson
from django.conf import settings
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.keys.principal import Principal
from catalogue.channels import BY_NAME, CHANNELS
from catalogue.errors import DomainError, Error, invalid_input
from catalogue.ids import uuid7
from catalogue.languages import message_languages
from channels.accept import acceptance
from channels.accept.acceptance import NewMessage, PreparedSend, Sender
from channels.accept.outcome import SendOutcome, WaitForFirstSend
from channels.extensions import CUSTOM_CODE
from channels.models import Message
from channels.providers import gsm
from channels.recipients import blocked_phones
from channels.routing import scripted_numbers
from channels.routing.channel_plan import ChannelPlan, plan_channels
from links import sql as links_sql
from links.make.new_link import NewLink, check_not_stopped, short_url
from otp import codes, sql
from otp.check import check
from otp.models import Verification
from otp.protection import send_check
from otp.send import code_writes
from otp.send.code_request import STORED_FIELDS, CodeSendRequest
from otp.send.code_writes import CodeRow, CodeWrite
from otp.send.custom_code import WAIT, CustomCodeSend
from otp.send.tried_channels import RequestedCode, UntriedChannels
from otp.texts import rendering
from storage.statements.json_rows import array_text

RANDOM_BITS = 80  # of an id, after its time


@dataclass(frozen=True, slots=True)
class SentCode:
    """The answer to the sender. Durations are in seconds."""

    outcome: SendOutcome
    expires_in: int
    attempts_left: int
    short_url: str | None
    verification_id: UUID
    is_repeat: bool = False  # nothing was sent: the message is an earlier one

    @property
    def is_resend(self) -> bool:
        """Whether the code was there before. Ids begin with milliseconds: a resent code's id is
        older than its message's.
        """
        code, message = self.verification_id.int, self.outcome.message_id.int
        return self.is_repeat or code >> RANDOM_BITS < message >> RANDOM_BITS


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedCodeSend(PreparedSend[CodeRow]):
    request: CodeSendRequest
    link: NewLink | None
    custom: CustomCodeSend | None
    untried: UntriedChannels | None
    # A parallel send inserted the verification, or took the slug, first.
    retried_on: Collection[str] = ("verification_one_live", "link_key_once")

    def write(self) -> CodeRow:
        """Writes the send alone or together with concurrent ones; each try has a new slug."""
        principal, link = self.message.sender.principal, self.link
        statement = sql.send(
            is_test=principal.is_test,
            has_link=link is not None,
            link_dies=link is not None and link.dies_with_code,
            has_key=self.message.sender.idempotency_key is not None,
            has_custom_code=self.custom is not None,
        )
        link_row = link.row(principal) if link else {}
        url = short_url(link_row["slug"], link.host) if link else None
        write = CodeWrite(statement, self._params(link_row, url))
        if self.custom is not None:
            row = self.custom.write(write)
        elif link is not None or self.request.is_new or principal.is_test:
            row = code_writes.alone(write)
        else:
            row = code_writes.SENDS.run(write)
        if not row.is_paid:
            raise self._refusal(row)
        if self.untried is not None:
            self.untried.check_sent(row.verification_id)
        return row._replace(short_url=url) if url else row

    def _refusal(self, row: CodeRow) -> Exception:
        if row.is_blocked:
            return blocked_phones.BlockedPhoneError()
        if row.is_capped:
            return check.refusal_by_guess_cap(self.message.sender.principal, self.request.phone)
        return acceptance.payment_refusal(self.message)

    def _params(self, link_row: Mapping[str, Any], url: str | None) -> dict[str, Any]:
        principal = self.message.sender.principal
        params = self.message.params() | _verification_params(principal, self.request)
        if self.link:
            params |= links_sql.params(link_row, self.link.lifetime)
        params["params"] = self._renderer_params()
        extras: dict[str, Any] = {name: getattr(self.request, name) for name in STORED_FIELDS}
        extras |= {
            "short_url": url,
            "link": link_row["id"].hex if link_row else None,
            "route": self.message.plan.route_of_its_channels,
            "sender": self.request.requester.stored,
            # The next channel, if requested, is one of them.
            "order": list(self.request.order.channels),
            CUSTOM_CODE: self.custom is not None,
        }
        params["params"] |= {name: value for name, value in extras.items() if value}
        return {**params, **(self.custom.params(self.message.id) if self.custom else OUR_CODE)}

    def _renderer_params(self) -> dict[str, Any]:
        principal, plan = self.message.sender.principal, self.message.plan
        params: dict[str, Any] = acceptance.wording(principal, self.request.locale)
        wording = _wording(principal, self.request, has_link=self.link is not None)
        # A message with a fallback chain keeps its text for every channel.
        channels = CHANNELS if plan.chain else (plan.channel,)
        if texts := rendering.snapshot(principal.texts, channels=channels, **wording):
            params["texts"] = texts
        return params


def send_code(
    *, sender: Sender, request: CodeSendRequest, only_verification_id: UUID | None = None
) -> SentCode:
    """Sends a code, or resends the live one; raises a DomainError before anything is spent.

    With `only_verification_id`, sends that verification's code by a channel that has not carried it
    yet, or nothing.
    """
    custom = CustomCodeSend.of(sender.principal, request)
    if custom is None:
        return _send(sender, request, only_verification_id)
    if only_verification_id is not None:  # the live code itself: no guess
        return _send_or_repeat(custom, sender, only_verification_id)
    with custom.counted_as_guess() as is_compared:
        if is_compared:
            return _send_or_repeat(custom, sender)
        new = custom.as_new()
        return _send(sender, new.request, None, new)


def _send_or_repeat(
    custom: CustomCodeSend, sender: Sender, only_verification_id: UUID | None = None
) -> SentCode:
    """Sends the code; a repeat waits for the first send and returns its answer."""
    wait = WaitForFirstSend(WAIT)
    while (message := custom.find_repeated(sender)) is None:
        try:
            return _send(
                custom.with_repeat_key(sender), custom.request, only_verification_id, custom
            )
        except DomainError as error:
            if wait.is_over or not custom.may_be_repeat(error.error):
                raise
        wait.pause()
    return replace(sent_code(message), is_repeat=True)


def _send(
    sender: Sender,
    request: CodeSendRequest,
    only_verification_id: UUID | None,
    custom: CustomCodeSend | None = None,
) -> SentCode:
    principal = sender.principal
    if request.link:
        check_not_stopped(principal)
    restricted = send_check.restriction_for(principal, request.phone, request.requester)
    avoids_sms = restricted is not None and restricted.is_without_sms
    plan = plan_channels(
        principal, request, kind="code", order=request.order, avoids_sms=avoids_sms
    )
    with send_check.enforced(plan, restricted) as allowed:
        link = request.link.for_channels(allowed.channel_names) if request.link else None
        plan = _with_segments(principal, request, link, allowed)
        prepared = PreparedCodeSend(
            message=NewMessage("code", sender, request, plan),
            request=request,
            link=link,
            custom=custom,
            untried=_untried(principal, request, plan, only_verification_id, custom),
        )
        code, outcome = acceptance.accept_and_wait(prepared)
    return SentCode(
        outcome=outcome,
        expires_in=_whole_seconds(code.expires_in),
        attempts_left=code.attempts_left,
        short_url=code.short_url,
        verification_id=code.verification_id,
    )


def sent_code(message: Message) -> SentCode:
    """The answer for a message that was accepted before, read from the database."""
    verification = Verification.objects.get(pk=message.subject_id)
    # Another clock than the one that made it.
    seconds = min(verification.expires_at - timezone.now(), verification.life).total_seconds()
    return SentCode(
        outcome=SendOutcome.of(message),
        expires_in=_whole_seconds(seconds),
        attempts_left=verification.max_attempts - verification.attempts,
        short_url=message.params.get("short_url"),
        verification_id=verification.pk,
    )


TOO_LONG_FOR_SMS = format_lazy(
    _("As an SMS this takes more than {most} parts"), most=settings.MAX_SMS_SEGMENTS
)
OUR_CODE = {"custom_macs": None}


def _with_segments(
    principal: Principal, request: CodeSendRequest, link: NewLink | None, plan: ChannelPlan
) -> ChannelPlan:
    """The plan with the segments of its SMS; raises if they are too many."""
    if not plan.has_segments:
        return plan
    wording = _wording(principal, request, has_link=link is not None)
    template = rendering.template(principal.texts, channel=BY_NAME["sms"], **wording)
    # With a code and a slug of the length that will be generated.
    text = rendering.fill(
        template,
        code=request.custom_code or "0" * (request.code_length or principal.code_length),
        brand=principal.brand,
        minutes=request.seconds // 60,
        link=link.sample_url if link else None,
    )
    segments = gsm.count_segments(text).segments
    return plan.within_segment_limit(segments, too_long=_too_long(request))


def _untried(
    principal: Principal,
    request: CodeSendRequest,
    plan: ChannelPlan,
    only_verification_id: UUID | None,
    custom: CustomCodeSend | None,
) -> UntriedChannels | None:
    """The channels to try at once; None if the cool-down applies: the send names none, or makes a
    new code.
    """
    if request.is_new or (request.channel is None and not request.order.channels):
        return None
    code: RequestedCode = {
        "requested_length": request.code_length,
        "binding": orjson.dumps(request.binding).decode() if request.binding else None,
        "custom_macs": custom.macs() if custom else None,
    }
    lock_first = custom.lock if custom else None
    return UntriedChannels(
        principal,
        request.phone,
        request.purpose,
        plan.channel_names,
        code,
        only_verification_id,
        lock_first,
    )


def _whole_seconds(seconds: float) -> int:
    return max(0, ceil(seconds))


def _too_long(request: CodeSendRequest) -> DomainError:
    """The refusal; without a custom text only an operator's long short host causes it."""
    if request.text:
        return invalid_input(text=TOO_LONG_FOR_SMS)
    if request.binding:
        return invalid_input(bind=TOO_LONG_FOR_SMS)
    return DomainError(Error.LINK_NOT_SUPPORTED)


def _verification_params(principal: Principal, request: CodeSendRequest) -> dict[str, Any]:
    verification_id, key_id = uuid7(), codes.current_key()
    length = request.code_length or principal.code_length
    code = request.custom_code or codes.derive(verification_id, key_id=key_id, length=length)
    expires_at_once = scripted_numbers.is_scripted(
        principal, request.phone, scripted_numbers.EXPIRED_CODE
    )
    return {
        "verification_id": verification_id,
        "purpose": request.purpose,
        "mac": codes.mac(
            key_id=key_id,
            code=code,
            **codes.code_identity(principal, request.phone, request.purpose),
        ),
        "key_id": key_id,
        # A live code is repeated if its key is one of these.
        "key_ids": array_text([] if request.is_new else codes.known_keys()),
        "length": length,
        "requested_length": request.code_length,
        "binding": request.binding,
        "max_attempts": settings.CODE_ATTEMPTS,
        "lifetime": 0 if expires_at_once else request.seconds,
        "least_use": settings.CODE_LIFETIME if expires_at_once else 0,
        "resend_margin": settings.RESEND_MARGIN,
        **check.cap_params(),
    }


def _wording(principal: Principal, request: CodeSendRequest, *, has_link: bool) -> dict[str, Any]:
    """The values, besides the channel, that the text depends on."""
    return {
        "locale": message_languages.match(request.locale, principal.language),
        "purpose": request.purpose,
        "has_link": has_link,
        "body": request.text,
        "line": request.line,
    }
