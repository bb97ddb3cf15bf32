"""Making links, alone or inside a message."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.api import test_quotas
from accounts.models import Mode
from channels.accept import acceptance as sending
from channels.accept.acceptance import Sender, SendOutcome
from channels.lifecycle.steps import Step
from channels.models import Message
from channels.providers.base import Content
from channels.routing import sms_segments
from config.errors import DomainError, Error, invalid_input
from links import sql
from links.follow import resolution
from links.make import reuse
from links.make.aliases import retire_aliases
from links.make.message_text import TEXTS, with_link
from links.make.new_link import MAX_TRIES, NewLink, Owner, short_url
from links.models import Link


def shorten(*, owner: Owner, link: NewLink) -> Link:
    """Makes a short link, or reuses an equal one when allowed; raises `alias_taken`."""
    if owner.mode == Mode.TEST:
        test_quotas.consume(owner.company_id, "links")
    if link.is_reused:
        (found,) = reuse.find_or_create(owner=owner, wanted=[link])
        return found
    for left in reversed(range(MAX_TRIES)):
        try:
            made = _insert(owner, link)
        except IntegrityError as error:
            if sending.violated_constraint(error) != "link_key_once" or not left:
                raise
            if link.alias:
                raise DomainError(Error.ALIAS_TAKEN) from None
        else:
            if link.alias:  # somebody may have got a 404 for it before
                transaction.on_commit(partial(resolution.cache_new, made))
            return made
    raise AssertionError("the last try returns or raises")


def _insert(owner: Owner, wanted: NewLink) -> Link:
    row = wanted.row(owner)
    # A savepoint, so that a slug that is taken does not break an open transaction.
    needs_block = row["is_alias"] or connection.in_atomic_block
    with transaction.atomic() if needs_block else nullcontext():
        if row["is_alias"]:
            retire_aliases(owner, [row["key"]])
        with connection.cursor() as cursor:
            cursor.execute(sql.SHORTEN, sql.params(row, wanted.lifetime))
            (expires_at,) = cursor.fetchone()
    return Link(**row, expires_at=expires_at)


@dataclass(frozen=True, slots=True)
class LinkSendRequest:
    """A request to send a link, its fields checked."""

    phone: str
    locale: str
    channel: str | None
    text: str
    link: NewLink

    @property
    def content(self) -> Content:
        return Content.LINK


@dataclass(frozen=True, slots=True)
class SentLink:
    outcome: SendOutcome
    short_url: str
    segments: int


def send_link(*, sender: Sender, order: LinkSendRequest) -> SentLink:
    """Shortens and sends in one commit; refuses before anything is charged."""
    acceptance = _Acceptance(sender, order)
    outcome = sending.send(acceptance)
    return SentLink(outcome, acceptance.short_url, acceptance.segments)


class _Accepted(NamedTuple):
    """The row of `sql.send`."""

    is_paid: bool
    is_blocked: bool


class _Acceptance(sending.Acceptance[LinkSendRequest]):
    """Tries again when a generated slug is taken; an alias that is taken is refused."""

    kind = "link"
    short_url = ""

    def _fallback_steps(self) -> list[Step]:
        steps = super()._fallback_steps()
        self.link = self.request.link.for_channels(
            {self.channel.name, *(one.channel for one in steps)}
        )
        return steps

    def count_segments(self) -> int:
        return sms_segments.count(self._text(self.link.sample_url)).segments

    def too_long(self) -> DomainError:
        most = settings.MAX_SMS_SEGMENTS
        return invalid_input(
            text=format_lazy(
                _("The message takes {segments} SMS; at most {max} are allowed"),
                segments=self.segments,
                max=most,
            )
        )

    def is_retryable(self, constraint: str) -> bool:
        if constraint == "link_key_once" and self.request.link.alias:
            raise DomainError(Error.ALIAS_TAKEN) from None
        return constraint == "link_key_once"

    def execute(self) -> None:
        principal = self.sender.principal
        link = self.link.row(principal)
        params = self._params(link)
        has_key = self.sender.idempotency_key is not None
        statement = sql.send(is_test=principal.is_test, has_key=has_key)
        if not link["is_alias"]:
            return self._read(sending.first_row(statement, params, _Accepted))
        with transaction.atomic():  # a refusal brings the retired alias back
            retire_aliases(principal, [link["key"]])
            self._read(sending.first_row(statement, params, _Accepted))
        # Somebody may have requested the alias before, and got a 404.
        resolution.invalidate_after_commit(Link(**link))
        return None

    def _text(self, url: str) -> str:
        return with_link(self.request.text or TEXTS[self.request.locale], url)

    def _read(self, row: _Accepted) -> None:
        if row.is_paid:
            return
        if row.is_blocked:
            raise DomainError(Error.RECIPIENT_UNREACHABLE)
        raise sending.payment_refusal(self.sender.principal, self.channel, self.request.phone)

    def _params(self, link: Mapping[str, Any]) -> dict[str, Any]:
        params = self.params() | sql.params(link, self.link.lifetime)
        self.short_url = short_url(link["slug"], self.link.host)
        params["params"] = {
            "text": self._text(self.short_url),
            "short_url": self.short_url,
            "brand": self.sender.principal.brand,
        }
        return params


def sent_link(message: Message) -> SentLink:
    """The result of a send whose message exists, read from the database."""
    return SentLink(SendOutcome.of(message), message.params["short_url"], message.segments)
