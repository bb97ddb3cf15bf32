"""Sends a one-time code: accepts the request, writes the verification and its message.

A send is written alone, or in one statement with others that come together. The statement
(`otp/send.sql`) decides whether it is a resend of the live code.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import ceil
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from accounts.keys.api_keys import Principal
from catalogue import languages
from catalogue.channels import BY_NAME, CHANNELS, Channel
from catalogue.errors import DomainError, Error
from catalogue.ids import uuid7
from channels import message_languages
from channels.accept import acceptance
from channels.accept.acceptance import NewMessage, Sender
from channels.extensions import OWN_CODE
from channels.models import Message
from channels.providers import gsm
from channels.providers.base import Content
from channels.recipients import blocked_phones
from channels.routing import test_numbers
from channels.routing.channel_plan import ChannelPlan, plan_channels
from channels.waiting.outcome_signals import SendOutcome
from links import sql as links_sql
from links.make.new_link import NewLink, short_url
from otp import check, codes, repeats, sealed_codes, sql
from otp.models import Verification
from otp.protection import send_check
from otp.protection.send_check import UNKNOWN, Requester
from otp.sealed_codes import content_of
from otp.texts import rendering
from otp.tried_channels import UntriedChannels
from storage.statements.group_commit import GroupCommit
from storage.statements.json_rows import array_text, by_number, bytea, dump_rows
from storage.statements.single_statement import fetch_rows


@dataclass(frozen=True, slots=True)
class CodeSendRequest:
    """A request for a code, its fields checked."""

    phone: str
    purpose: str
    locale: str
    channel: str | None
    link: NewLink | None
    requester: Requester = UNKNOWN  # who asked the company for the code
    reference: str = ""
    custom_code: str | None = field(default=None, repr=False)  # 4 to 10 letters or digits

    @property
    def content(self) -> Content:
        if self.link:
            return Content.CODE_WITH_LINK
        return Content.CODE if self.custom_code is None else content_of(self.custom_code)


@dataclass(frozen=True, slots=True)
class SentCode:
    """The answer to the sender. Durations are in seconds."""

    outcome: SendOutcome
    expires_in: int
    attempts_left: int
    short_url: str | None
    verification_id: UUID


def send_code(*, sender: Sender, request: CodeSendRequest, only_of: UUID | None = None) -> SentCode:
    """Sends a code, or resends the live one; raises a DomainError before anything is spent.

    `only_of`: sends that verification's code by a channel that has not carried it yet, or nothing.
    """
    send = partial(_send, request=request, only_of=only_of)
    if request.custom_code is None:
        return send(sender)
    return repeats.once(sender, request, send, sent_code)


def _send(sender: Sender, *, request: CodeSendRequest, only_of: UUID | None) -> SentCode:
    principal = sender.principal
    restricted = send_check.restriction_for(principal, request.phone, request.requester)
    avoids_sms = restricted is not None and restricted.is_without_sms
    plan = plan_channels(principal, request, kind="code", avoids_sms=avoids_sms)
    with send_check.enforced(
        principal, request.phone, request.requester, plan, restricted
    ) as allowed:
        code, url, outcome = _accept(sender, request, allowed, only_of)
    return SentCode(
        outcome=outcome,
        expires_in=_whole_seconds(code.expires_in),
        attempts_left=code.attempts_left,
        short_url=url,
        verification_id=code.verification_id,
    )


def sent_code(message: Message) -> SentCode:
    """The answer for a message that was accepted before, read from the database."""
    verification = Verification.objects.get(pk=message.subject_id)
    left = (verification.expires_at - timezone.now()).total_seconds()
    return SentCode(
        outcome=SendOutcome.of(message),
        expires_in=_whole_seconds(left),
        attempts_left=verification.max_attempts - verification.attempts,
        short_url=message.params.get("short_url"),
        verification_id=verification.pk,
    )


class CodeRow(NamedTuple):
    """A row of `otp/send.sql`. The last three mean something if the send was paid for."""

    number: int  # of the send in its group
    is_paid: bool
    is_blocked: bool
    is_capped: bool
    expires_in: float
    attempts_left: int
    verification_id: UUID  # of the live code, for a resend


@dataclass(frozen=True, slots=True)
class CodeWrite:
    """A send to write, with the columns of `asked`; `statement` is for when it runs alone."""

    statement: str
    params: Mapping[str, Any]


# A parallel send inserted the verification, or took the slug, first.
RETRIED_ON = {"verification_one_live", "link_key_once"}


def _accept(
    sender: Sender, request: CodeSendRequest, plan: ChannelPlan, only_of: UUID | None
) -> tuple[CodeRow, str | None, SendOutcome]:
    link = request.link.for_channels(plan.channel_names) if request.link else None
    if plan.has_segments:
        # Only an operator's long short host makes a code with a link too long for SMS.
        too_long = DomainError(Error.LINK_NOT_SUPPORTED)
        segments = _count_segments(sender.principal, request, link)
        plan = plan.with_segments(segments, too_long=too_long)
    message = NewMessage("code", sender, request, plan)
    other_channel = _other_channel(sender.principal, request, plan, only_of)
    (code, url), outcome = acceptance.accept(
        message,
        partial(_write, message, request, link, other_channel),
        retried_on=RETRIED_ON,
        other_channel=other_channel,
    )
    return code, url, outcome


def _other_channel(
    principal: Principal, request: CodeSendRequest, plan: ChannelPlan, only_of: UUID | None
) -> UntriedChannels | None:
    """None for a send that names no channel: the cool-down holds it."""
    if request.channel is None:
        return None
    untried = UntriedChannels(
        principal, request.phone, request.purpose, plan.channel_names, of=only_of
    )
    if request.custom_code is not None:
        untried.lock_first = partial(repeats.lock, principal, request)
    return untried


def _whole_seconds(left: float) -> int:
    """A parallel send may see a code made after its own clock reading, hence the clamp."""
    return min(max(0, ceil(left)), settings.CODE_LIFETIME)


def _count_segments(principal: Principal, request: CodeSendRequest, link: NewLink | None) -> int:
    """Counts the text with a code and a slug of the length that will be generated."""
    template = rendering.template(
        principal.texts,
        channel=BY_NAME["sms"],
        locale=languages.match(request.locale, principal.language),
        purpose=request.purpose,
        has_link=link is not None,
    )
    text = rendering.fill(
        template,
        code=request.custom_code or "0" * principal.code_length,
        brand=principal.brand,
        minutes=None,
        link=link.sample_url if link else None,
    )
    return gsm.count_segments(text).segments


def _write(
    message: NewMessage,
    request: CodeSendRequest,
    link: NewLink | None,
    other_channel: UntriedChannels | None,
) -> tuple[CodeRow, str | None]:
    """Returns the row, and the short URL if there is a link."""
    statement = sql.send(
        is_test=message.sender.principal.is_test,
        has_link=link is not None,
        link_dies=link is not None and link.dies_with_code,
        has_key=message.sender.idempotency_key is not None,
        has_own_code=request.custom_code is not None,
    )
    params = _params(message, request, link)
    if request.custom_code is not None:
        with transaction.atomic():
            repeats.lock(message.sender.principal, request)
            row = _alone(CodeWrite(statement, params))
    elif link is not None or message.sender.principal.is_test:
        row = _alone(CodeWrite(statement, params))
    else:
        row = _sends.run(CodeWrite(statement, params))
    if not row.is_paid:
        raise _refusal(message, row)
    if other_channel is not None:
        other_channel.check_sent(row.verification_id)
    return row, params["params"].get("short_url")


def _refusal(message: NewMessage, row: CodeRow) -> Exception:
    if row.is_blocked:
        return blocked_phones.BlockedPhoneError()
    if row.is_capped:
        return check.send_refusal(message.sender.principal, message.request.phone)
    return acceptance.payment_refusal(message)


def _params(message: NewMessage, request: CodeSendRequest, link: NewLink | None) -> dict[str, Any]:
    principal = message.sender.principal
    params = message.params() | _verification_params(principal, request)
    link_params: dict[str, str] = {}
    if link:
        made = link.row(principal)
        params |= links_sql.params(made, link.lifetime)
        link_params = {"short_url": short_url(made["slug"], link.host), "link": made["id"].hex}
    # A message with a fallback chain keeps its text for every channel.
    channels = CHANNELS if message.plan.chain else (message.plan.channel,)
    params["params"] = _renderer_params(principal, request, channels, link_params)
    if message.plan.route:
        params["params"]["route"] = message.plan.route_of_its_channels
    if request.requester.stored:
        params["params"]["sender"] = request.requester.stored
    return params | _own_code_params(message, request, params["params"])


def _own_code_params(
    message: NewMessage, request: CodeSendRequest, renderer_params: dict[str, Any]
) -> dict[str, Any]:
    if request.custom_code is None:
        return {"own_macs": None}
    renderer_params[OWN_CODE] = True
    sealed = sealed_codes.seal(request.custom_code, message.id)
    return {
        "own_macs": repeats.macs(message.sender.principal, request),
        "sealed_key_id": sealed.key_id,
        "sealed": sealed.sealed,
        "length": len(request.custom_code),
    }


def _verification_params(principal: Principal, request: CodeSendRequest) -> dict[str, Any]:
    verification_id, key_id = uuid7(), codes.current_key()
    code = request.custom_code or codes.derive(
        verification_id, key_id=key_id, length=principal.code_length
    )
    is_born_expired = test_numbers.is_scripted(principal, request.phone, test_numbers.EXPIRED_CODE)
    return {
        "verification_id": verification_id,
        "purpose": request.purpose,
        "mac": codes.mac(
            key_id=key_id,
            company_id=principal.company_id,
            mode=principal.mode,
            phone=request.phone,
            purpose=request.purpose,
            code=code,
        ),
        "key_id": key_id,
        "key_ids": array_text(codes.known_keys()),
        "length": principal.code_length,
        "max_attempts": settings.CODE_ATTEMPTS,
        "lifetime": 0 if is_born_expired else settings.CODE_LIFETIME,
        "least_use": settings.CODE_LIFETIME if is_born_expired else 0,
        "resend_margin": settings.RESEND_MARGIN,
        **check.cap_params(),
    }


def _renderer_params(
    principal: Principal,
    request: CodeSendRequest,
    channels: Sequence[Channel],
    link: Mapping[str, str],
) -> dict[str, Any]:
    params: dict[str, Any] = {
        "brand": principal.brand,
        **message_languages.stored(request.locale, principal.language),
    }
    texts = rendering.snapshot(
        principal.texts,
        channels=channels,
        locale=languages.match(request.locale, principal.language),
        purpose=request.purpose,
        has_link=bool(link),
    )
    if texts:
        params["texts"] = texts
    return {**params, **link}


def _alone(write: CodeWrite) -> CodeRow:
    return acceptance.first_row(
        sql.in_live_months(write.statement), {**write.params, "number": 0}, CodeRow
    )


# The same for all live sends.
_SHARED = (
    "key_ids",
    "resend_margin",
    "lifetime",
    "least_use",
    "max_attempts",
    "failed_hour",
    "failed_day",
    "time_zone",
)


def _together(writes: Sequence[CodeWrite]) -> list[CodeRow | None]:
    first = writes[0].params
    companies = {write.params["company_id"] for write in writes}
    of_one = len(companies) == 1
    statement = sql.SEND_OF_ONE_COMPANY if of_one else sql.SEND_OF_SEVERAL_COMPANIES
    asked = [_asked_row(number, write.params) for number, write in enumerate(writes)]
    params = {name: first[name] for name in _SHARED} | {"asked": dump_rows(_first_of_each(asked))}
    rows = fetch_rows(sql.in_live_months(statement), params, CodeRow)
    return by_number((row for row in rows if row.is_paid), len(writes))


def _first_of_each(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without those for the code or the Idempotency-Key of one before them."""
    codes: set[Any] = set()
    keys: set[Any] = set()
    firsts = []
    for row in rows:
        code = (row["company_id"], row["phone"], row["purpose"])
        key = (row["company_id"], row["idem_key"] or row["number"])
        if code not in codes and key not in keys:
            firsts.append(row)
        codes.add(code)
        keys.add(key)
    return firsts


def _asked_row(number: int, params: Mapping[str, Any]) -> dict[str, Any]:
    row = {name: value for name, value in params.items() if name not in _SHARED}
    values = {name: bytea(params[name]) for name in ("mac", "idem_hash") if params[name]}
    return row | values | {"number": number}


_sends = GroupCommit(_alone, _together)
