"""Sends a link: makes it together with its message in one commit."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.keys.principal import Principal
from catalogue.errors import DomainError, Error, invalid_input
from catalogue.languages import message_languages
from channels.accept import acceptance
from channels.accept.acceptance import NewMessage, PreparedSend, Sender
from channels.accept.outcome import SendOutcome
from channels.models import Message
from channels.providers import gsm
from channels.providers.base import Content
from channels.recipients import blocked_phones
from channels.routing.channel_plan import plan_channels
from channels.routing.company_policy import NO_ORDER, RequestedOrder
from links import sql
from links.follow import resolution
from links.make.message_text import with_link
from links.make.new_link import NewLink, check_not_stopped, short_url
from links.make.retired_aliases import retire_aliases
from links.models import Link


@dataclass(frozen=True, slots=True)
class LinkSendRequest:
    phone: str
    locale: str
    channel: str | None
    text: str
    link: NewLink
    door: str = ""  # the other API that the request came by: `Message.source_api`

    @property
    def content(self) -> Content:
        return Content.LINK

    @property
    def purpose(self) -> str:
        return ""


@dataclass(frozen=True, slots=True)
class SentLink:
    outcome: SendOutcome
    short_url: str
    segments: int


class _Acceptance(NamedTuple):
    is_paid: bool
    is_blocked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedLinkSend(PreparedSend[str]):
    request: LinkSendRequest
    link: NewLink

    def write(self) -> str:
        """Makes the link and its message in one commit; returns the short URL."""
        message = self.message
        principal = self.message.sender.principal
        row = self.link.row(principal)
        url = short_url(row["slug"], self.link.host)
        params = message.params() | sql.params(row, self.link.lifetime)
        params["params"] = {
            "text": _message_text(principal, self.request, url),
            "short_url": url,
            **acceptance.text_settings(principal, self.request.locale),
        }
        if self.request.door:
            params["params"]["door"] = self.request.door
        has_key = message.sender.idempotency_key is not None
        statement = sql.send(is_test=principal.is_test, has_key=has_key)
        if row["is_alias"]:
            _write_with_alias(message, row, statement, params)
        else:
            _raise_if_refused(message, acceptance.first_row(statement, params, _Acceptance))
        return url


def send_link(
    *, sender: Sender, request: LinkSendRequest, order: RequestedOrder = NO_ORDER
) -> SentLink:
    """Shortens and sends in one commit; refuses before anything is charged."""
    check_not_stopped(sender.principal)
    plan = plan_channels(sender.principal, request, kind="link", order=order)
    link = request.link.for_channels(plan.channel_names)
    if plan.has_segments:
        segments = gsm.count_segments(
            _message_text(sender.principal, request, link.sample_url)
        ).segments
        plan = plan.within_segment_limit(segments, too_long=_too_long(segments))
    prepared = PreparedLinkSend(
        message=NewMessage("link", sender, request, plan),
        request=request,
        link=link,
        # A taken slug is generated again; a taken alias is refused.
        retried_on=() if link.alias else ("link_key_once",),
    )
    url, outcome = acceptance.accept_and_wait(prepared)
    return SentLink(outcome, url, plan.segments)


def _too_long(segments: int) -> DomainError:
    return invalid_input(
        text=format_lazy(
            _("The message takes {segments} SMS; at most {max} are allowed"),
            segments=segments,
            max=settings.MAX_SMS_SEGMENTS,
        )
    )


def _write_with_alias(
    message: NewMessage, row: Mapping[str, Any], statement: str, params: Mapping[str, Any]
) -> None:
    try:
        with transaction.atomic():  # a refusal restores the retired alias
            if retire_aliases(message.sender.principal, [row]):
                raise DomainError(Error.ALIAS_TAKEN)
            _raise_if_refused(message, acceptance.first_row(statement, params, _Acceptance))
    except IntegrityError as error:
        if acceptance.violated_constraint(error) != "link_key_once":
            raise
        raise DomainError(Error.ALIAS_TAKEN) from None
    # Somebody may have requested the alias before, and got a 404.
    transaction.on_commit(partial(resolution.invalidate_after_commit, Link(**row)))


def _message_text(principal: Principal, request: LinkSendRequest, url: str) -> str:
    language = message_languages.match(request.locale, principal.language)
    return with_link(request.text or message_languages.texts(language)["link"], url)


def _raise_if_refused(message: NewMessage, row: _Acceptance) -> None:
    if row.is_paid:
        return
    if row.is_blocked:
        raise blocked_phones.BlockedPhoneError
    raise acceptance.payment_refusal(message)


def sent_link(message: Message) -> SentLink:
    """The result of a send whose message exists, read from the database."""
    return SentLink(SendOutcome.of(message), message.params["short_url"], message.segments)
