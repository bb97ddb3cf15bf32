"""Makes links: one, many in one request, or one inside a message, with its text."""

import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.keys.principal import Principal
from accounts.models import Mode
from api import rate_limit
from catalogue import languages
from catalogue.channels import BY_NAME
from catalogue.errors import DomainError, Error, invalid_input
from channels.accept import acceptance
from channels.accept.acceptance import NewMessage, Sender
from channels.extensions import Rendered
from channels.models import Message
from channels.providers import gsm
from channels.providers.base import Content
from channels.recipients import blocked_phones
from channels.routing.channel_plan import plan_channels
from channels.waiting.outcome_signals import SendOutcome
from links import sql
from links.follow import resolution
from links.make import reuse
from links.make.new_link import MAX_TRIES, NewLink, Owner, short_url
from links.make.reuse import retire_aliases
from links.models import Link
from storage.statements.single_statement import fetch_rows

PLACEHOLDER = re.compile(r"(?<![\w:]):link(?!\w)")

_JOINTS = r"\s:;,.!–—()-"


def with_link(text: str, url: str) -> str:
    """Replaces every whole-word `:link`; without one, the link comes last."""
    replaced, count = PLACEHOLDER.subn(lambda _found: url, text)
    return replaced if count else f"{text} {url}"


def beside_button(text: str, url: str, *, locale: str, brand: str) -> str:
    """The text beside the template's button that has the link, so the text omits it.

    A link inside a sentence stays, because the sentence makes no sense without it.
    """
    if text in {
        with_link(languages.texts(code)["link"], url) for code in languages.message_codes()
    }:
        text = ""  # ours, perhaps in another language than the template's
    site = re.escape(url)
    rest = re.sub(rf"^[{_JOINTS}]*{site}[{_JOINTS}]+", "", text)
    rest = re.sub(rf"(^|[{_JOINTS}]+){site}[{_JOINTS}]*$", "", rest).strip()
    return rest or str(languages.texts(locale)["link_beside_a_button"]).format(
        brand=brand or "Kvitok"
    )


def render_link(
    *, subject_id: UUID, params: Mapping[str, Any], locale: str, channel: str
) -> Rendered:
    """Renders the message of a link; its text was fixed when it was accepted."""
    text, url = params["text"], params["short_url"]
    if BY_NAME[channel].has_link_button:
        text = beside_button(text, url, locale=locale, brand=params.get("brand", ""))
    return Rendered(text=text, short_url=url)


def shorten(*, owner: Owner, link: NewLink) -> Link:
    """Makes a short link, or reuses an equal one when allowed; raises `alias_taken`."""
    if owner.mode == Mode.TEST:
        rate_limit.consume_test_quota(owner.company_id, "links")
    if link.is_reused:
        (reused,) = reuse.find_or_create(owner=owner, wanted=[link])
        return reused
    for left in reversed(range(MAX_TRIES)):
        try:
            made = _insert(owner, link)
        except IntegrityError as error:
            if acceptance.violated_constraint(error) != "link_key_once" or not left:
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
        if row["is_alias"] and retire_aliases(owner, [row]):
            raise DomainError(Error.ALIAS_TAKEN)
        (made,) = fetch_rows(sql.SHORTEN, sql.params(row, wanted.lifetime), _Made)
    return Link(**row, expires_at=made.expires_at)


class _Made(NamedTuple):
    """The row of `sql.SHORTEN`."""

    expires_at: datetime | None


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

    @property
    def purpose(self) -> str:
        return ""


@dataclass(frozen=True, slots=True)
class SentLink:
    outcome: SendOutcome
    short_url: str
    segments: int


class _Accepted(NamedTuple):
    """The row of `sql.send`."""

    is_paid: bool
    is_blocked: bool


def send_link(*, sender: Sender, request: LinkSendRequest) -> SentLink:
    """Shortens and sends in one commit; refuses before anything is charged."""
    plan = plan_channels(sender.principal, request, kind="link")
    link = request.link.for_channels(plan.channel_names)
    if plan.has_segments:
        segments = gsm.count_segments(_text(sender.principal, request, link.sample_url)).segments
        plan = plan.with_segments(segments, too_long=_too_long(segments))
    message = NewMessage("link", sender, request, plan)
    # A taken slug is generated again; a taken alias is refused.
    retried_on = () if link.alias else ("link_key_once",)
    url, outcome = acceptance.accept(
        message, partial(_write, message, request, link), retried_on=retried_on
    )
    return SentLink(outcome, url, plan.segments)


def _too_long(segments: int) -> DomainError:
    return invalid_input(
        text=format_lazy(
            _("The message takes {segments} SMS; at most {max} are allowed"),
            segments=segments,
            max=settings.MAX_SMS_SEGMENTS,
        )
    )


def _write(message: NewMessage, request: LinkSendRequest, link: NewLink) -> str:
    """Returns the short URL."""
    principal = message.sender.principal
    row = link.row(principal)
    url = short_url(row["slug"], link.host)
    params = message.params() | sql.params(row, link.lifetime)
    params["params"] = {
        "text": _text(principal, request, url),
        "short_url": url,
        **acceptance.wording(principal, request.locale),
    }
    has_key = message.sender.idempotency_key is not None
    statement = sql.send(is_test=principal.is_test, has_key=has_key)
    if row["is_alias"]:
        _write_with_alias(message, row, statement, params)
    else:
        _raise_if_refused(message, acceptance.first_row(statement, params, _Accepted))
    return url


def _write_with_alias(
    message: NewMessage, row: Mapping[str, Any], statement: str, params: Mapping[str, Any]
) -> None:
    try:
        with transaction.atomic():  # a refusal restores the retired alias
            if retire_aliases(message.sender.principal, [row]):
                raise DomainError(Error.ALIAS_TAKEN)
            _raise_if_refused(message, acceptance.first_row(statement, params, _Accepted))
    except IntegrityError as error:
        if acceptance.violated_constraint(error) != "link_key_once":
            raise
        raise DomainError(Error.ALIAS_TAKEN) from None
    # Somebody may have requested the alias before, and got a 404.
    resolution.invalidate_after_commit(Link(**row))


def _text(principal: Principal, request: LinkSendRequest, url: str) -> str:
    language = languages.match(request.locale, principal.language)
    return with_link(request.text or languages.texts(language)["link"], url)


def _raise_if_refused(message: NewMessage, row: _Accepted) -> None:
    if row.is_paid:
        return
    if row.is_blocked:
        raise blocked_phones.BlockedPhoneError
    raise acceptance.payment_refusal(message)


def sent_link(message: Message) -> SentLink:
    """The result of a send whose message exists, read from the database."""
    return SentLink(SendOutcome.of(message), message.params["short_url"], message.segments)


MAX_LINKS = 1000


Result = Link | DomainError


def shorten_many(*, owner: Owner, wanted: Sequence[NewLink], batch_id: UUID) -> list[Result]:
    """Results in the order of `wanted`; an alias that is taken fails its own item alone."""
    with transaction.atomic():
        if owner.mode == Mode.TEST:
            rate_limit.consume_test_quota(owner.company_id, "links", len(wanted))
        results = _reuse_some(owner, wanted, batch_id)
        rows = {n: link.row(owner) for n, link in enumerate(wanted) if link.alias}
        taken = retire_aliases(owner, list(rows.values()))
        results |= {
            n: DomainError(Error.ALIAS_TAKEN) for n, row in rows.items() if row["key"] in taken
        }
        for left in reversed(range(MAX_TRIES)):
            open_items = [n for n in range(len(wanted)) if n not in results]
            if not open_items:
                break
            results |= _insert_many(
                owner, {n: wanted[n] for n in open_items}, batch_id, is_last=not left
            )
    aliases = [link for link in results.values() if isinstance(link, Link) and link.is_alias]
    if aliases:
        transaction.on_commit(lambda: resolution.cache_new(*aliases))
    return [results[n] for n in range(len(wanted))]


def _reuse_some(owner: Owner, wanted: Sequence[NewLink], batch_id: UUID) -> dict[int, Result]:
    asked = {n: link for n, link in enumerate(wanted) if link.is_reused}
    if not asked:
        return {}
    links = reuse.find_or_create(owner=owner, wanted=list(asked.values()), batch_id=batch_id)
    return dict(zip(asked, links, strict=True))


def _insert_many(
    owner: Owner, wanted: Mapping[int, NewLink], batch_id: UUID, *, is_last: bool
) -> dict[int, Result]:
    """Links made and items refused; a generated slug that is taken is left for the next try."""
    rows = {n: link.row(owner, batch_id=batch_id) for n, link in wanted.items()}
    lifetimes = [link.lifetime for link in wanted.values()]
    with connection.cursor() as cursor:
        cursor.execute(sql.INSERT_MANY, sql.params_of_many(list(rows.values()), lifetimes))
        expiries: dict[UUID, datetime | None] = dict(cursor.fetchall())
    results: dict[int, Result] = {}
    for n, row in rows.items():
        if row["id"] in expiries:
            results[n] = Link(**row, expires_at=expiries[row["id"]])
        elif row["is_alias"]:
            results[n] = DomainError(Error.ALIAS_TAKEN)
        elif is_last:
            raise DomainError(Error.UNAVAILABLE, retry_after=1)
    return results
