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
from links.addresses import short_hosts
from links.follow import resolution
from links.make.new_link import MAX_TRIES, NewLink, Owner, short_url
from links.models import Link
from storage.statements import sql_files
from storage.statements.named_rows import fetch_all
from storage.statements.single_statement import fetch_rows

_IS_LIVE = """
(l.disabled_at IS NULL AND (l.expires_at IS NULL OR l.expires_at > now())
 AND NOT EXISTS (SELECT FROM links_stop s
                 WHERE s.company_id = l.company_id AND s.batch_id = l.batch_id))"""
# IS NOT NULL is redundant, but the planner uses the partial index only with it.
_EQUAL = """
l.company_id = %(company_id)s AND l.mode = %(mode)s::text
AND l.reuse_key = ANY(%(link_reuse_key)s::uuid[]) AND l.reuse_key IS NOT NULL"""

# Live links are found; dead ones give up their keys, locked in one order; new links are made for
# the rest. The unique index decides between concurrent requests; ON CONFLICT returns the earlier
# row to the later request, whose snapshot does not show it.
_FIND_OR_CREATE = f"""
WITH found AS (
  SELECT l.reuse_key, l.id, l.slug, l.key, l.expires_at
  FROM links_link l WHERE {_EQUAL} AND {_IS_LIVE}),
dead AS (
  UPDATE links_link SET reuse_key = NULL WHERE id IN (
    SELECT l.id FROM links_link l WHERE {_EQUAL} AND NOT {_IS_LIVE} ORDER BY l.id FOR UPDATE)
  RETURNING id),
made AS ({sql.INSERT_FROM_ARRAYS},
    (SELECT count(*) FROM dead) AS first  -- read, so that it happens before
  WHERE NOT EXISTS (SELECT FROM found WHERE found.reuse_key = n.reuse_key)
  ORDER BY n.reuse_key
  ON CONFLICT (company_id, mode, reuse_key) WHERE reuse_key IS NOT NULL
    DO UPDATE SET reuse_key = EXCLUDED.reuse_key
  RETURNING reuse_key, id, slug, key, expires_at)
SELECT * FROM found UNION ALL SELECT * FROM made
"""  # noqa: S608


class _Found(NamedTuple):
    reuse_key: UUID
    id: UUID
    slug: str
    key: str
    expires_at: datetime | None


def find_or_create(
    *, owner: Owner, new_links: Sequence[NewLink], batch_id: UUID | None = None
) -> list[Link]:
    """Links in the order of `new_links`, which all have `is_reused`; equal items share one link."""
    for left in reversed(range(MAX_TRIES)):
        rows = [link.row(owner, batch_id=batch_id) for link in new_links]
        first = {row["reuse_key"]: n for n, row in reversed(list(enumerate(rows)))}.values()
        params = sql.params_of_many(
            [rows[n] for n in first], [new_links[n].lifetime for n in first]
        )
        try:
            with transaction.atomic():
                links = _execute(params)
        except IntegrityError as error:  # a generated slug is taken
            if acceptance.violated_constraint(error) != "link_key_once" or not left:
                raise
        else:
            return [_link(row, links[row["reuse_key"]]) for row in rows]
    raise AssertionError("the last try returns or raises")


def _execute(params: Mapping[str, Any]) -> dict[UUID, _Found]:
    with connection.cursor() as cursor:
        cursor.execute(_FIND_OR_CREATE, params)
        return {row.reuse_key: row for row in fetch_all(cursor, _Found)}


def _link(row: Mapping[str, Any], known: _Found) -> Link:
    link = Link(**{**row, **known._asdict()})
    link.was_there = known.id != row["id"]
    return link


_RETIRE_ALIAS = sql_files.read("links/make/retire_alias.sql")


def retire_aliases(owner: Owner, rows: Sequence[Mapping[str, Any]]) -> set[str]:
    """Free the aliases of dead links, so that new links can have them. Returns the keys of those
    that spell a generated slug, whose link is found before theirs.
    """
    if not rows:
        return set()
    spelled = {short_hosts.key(row["host_id"], row["slug"]): row["key"] for row in rows}
    values: dict[str, Any] = {"company_id": owner.company_id, "mode": owner.mode}
    with connection.cursor() as cursor:
        cursor.execute(_RETIRE_ALIAS, values | {"keys": list(spelled.values())})
        cursor.execute(sql.GENERATED, {"keys": list(spelled)})
        return {spelled[key] for (key,) in cursor.fetchall()}


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
        (reused,) = find_or_create(owner=owner, new_links=[link])
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


def _insert(owner: Owner, new_link: NewLink) -> Link:
    row = new_link.row(owner)
    # A savepoint, so that a slug that is taken does not break an open transaction.
    needs_block = row["is_alias"] or connection.in_atomic_block
    with transaction.atomic() if needs_block else nullcontext():
        if row["is_alias"] and retire_aliases(owner, [row]):
            raise DomainError(Error.ALIAS_TAKEN)
        (made,) = fetch_rows(sql.SHORTEN, sql.params(row, new_link.lifetime), _Made)
    return Link(**row, expires_at=made.expires_at)


class _Made(NamedTuple):
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class LinkSendRequest:
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


def shorten_many(*, owner: Owner, new_links: Sequence[NewLink], batch_id: UUID) -> list[Result]:
    """Results in the order of `new_links`; an alias that is taken fails its own item alone."""
    with transaction.atomic():
        if owner.mode == Mode.TEST:
            rate_limit.consume_test_quota(owner.company_id, "links", len(new_links))
        results = _reuse_some(owner, new_links, batch_id)
        rows = {n: link.row(owner) for n, link in enumerate(new_links) if link.alias}
        taken = retire_aliases(owner, list(rows.values()))
        results |= {
            n: DomainError(Error.ALIAS_TAKEN) for n, row in rows.items() if row["key"] in taken
        }
        for left in reversed(range(MAX_TRIES)):
            open_items = [n for n in range(len(new_links)) if n not in results]
            if not open_items:
                break
            results |= _insert_many(
                owner, {n: new_links[n] for n in open_items}, batch_id, is_last=not left
            )
    aliases = [link for link in results.values() if isinstance(link, Link) and link.is_alias]
    if aliases:
        transaction.on_commit(lambda: resolution.cache_new(*aliases))
    return [results[n] for n in range(len(new_links))]


def _reuse_some(owner: Owner, new_links: Sequence[NewLink], batch_id: UUID) -> dict[int, Result]:
    asked = {n: link for n, link in enumerate(new_links) if link.is_reused}
    if not asked:
        return {}
    links = find_or_create(owner=owner, new_links=list(asked.values()), batch_id=batch_id)
    return dict(zip(asked, links, strict=True))


def _insert_many(
    owner: Owner, new_links: Mapping[int, NewLink], batch_id: UUID, *, is_last: bool
) -> dict[int, Result]:
    """Links made and items refused; a generated slug that is taken is left for the next try."""
    rows = {n: link.row(owner, batch_id=batch_id) for n, link in new_links.items()}
    lifetimes = [link.lifetime for link in new_links.values()]
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
