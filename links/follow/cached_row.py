"""The row of a link that a redirect needs, read from the database and cached in Redis.

Each call to Redis is one round trip and raises the client's errors. A key holds the row with
exactly that key, `null` without such a row, or, for a while after a change, an empty value: a
reader or creator that is slower than the change cannot store the old row again.
"""

import time
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from uuid import UUID

import orjson
from redis.client import Pipeline

from links.addresses.utm_tags import CHANNEL_PLACEHOLDER, add_tags
from links.models import Link
from storage.redis_client import Command, call, call_together, redis_client
from storage.statements import sql_files

LIVE_TTL = 86_400.0  # seconds that Redis keeps a live link
SHORT_TTL = 30.0  # seconds for a missing or dead link, or one that may soon change its target


class NoTarget(Enum):
    GONE = "gone"
    ONE_TIME_GONE = "one_time_gone"  # a one-time link was opened
    NOT_FOUND = "not_found"


GONE = NoTarget.GONE
ONE_TIME_GONE = NoTarget.ONE_TIME_GONE
NOT_FOUND = NoTarget.NOT_FOUND


class ExpiredTarget(NamedTuple):
    """The link has expired, and its owner redirects visitors to another URL."""

    url: str
    is_once: bool

    def without_target(self) -> NoTarget:
        return ONE_TIME_GONE if self.is_once else GONE


class LinkTarget(NamedTuple):
    """The fields of a link that a redirect needs, in the order in which Redis stores them.

    Another order or meaning needs another key prefix. A field may be added at the end, with a
    default.
    """

    link_id: str  # in hexadecimal
    expires_at: float | None  # Unix seconds
    url: str  # with its UTM tags; only the host for a one-time link; empty for a dead link
    company_id: int
    batch: str = ""  # value of `batch_key`
    is_once: bool = False
    expired_url: str = ""

    def without_target(self) -> NoTarget:
        return ONE_TIME_GONE if self.is_once else GONE

    def expired(self) -> ExpiredTarget | NoTarget:
        return (
            ExpiredTarget(self.expired_url, self.is_once)
            if self.expired_url
            else self.without_target()
        )


Resolution = LinkTarget | ExpiredTarget | NoTarget


class CachedRow(NamedTuple):
    is_alias: bool
    target: LinkTarget
    max_ttl: float  # seconds

    def resolution(self) -> Resolution:
        return self.target if self.target.url else self.target.without_target()

    def ttl(self) -> float:
        expires_at = self.target.expires_at
        seconds = LIVE_TTL if expires_at is None else expires_at - time.time()
        return min(self.max_ttl, seconds) if seconds > 0 else SHORT_TTL


def batch_key(company_id: int, batch_id: UUID | None) -> str:
    """The key of the batch among the stops; with its company, so that no other's batch matches."""
    return f"{company_id}/{batch_id.hex}" if batch_id else ""


def redis_key(key: str) -> str:
    return f"l2:{key}"


def pack(row: CachedRow | None) -> bytes:
    return orjson.dumps((row.is_alias, *row.target, row.max_ttl) if row else None)


def unpack(value: bytes) -> CachedRow | None:
    fields = orjson.loads(value)
    if not fields:
        return None
    is_alias, *target, max_ttl = fields
    values = target[: len(LinkTarget._fields)]  # a newer release adds fields
    return CachedRow(is_alias, LinkTarget(*values), max_ttl)


def ttl_ms(row: CachedRow | None) -> int:
    return max(1, int(1000 * (row.ttl() if row else SHORT_TTL)))


def choose(rows: Mapping[str, CachedRow | None], exact: str, folded: str) -> CachedRow | None:
    """The row with exactly this key, or else an alias that differs from it only in case.

    So a generated slug mistyped in lower case may lead to somebody's alias instead of nowhere. That
    is accepted: slugs are tapped or scanned, every target passes the same checks, and refusing such
    aliases would need an index over all slugs in lower case.
    """
    alias = rows.get(folded)
    return rows.get(exact) or (alias if alias and alias.is_alias else None)


def is_decided(rows: Mapping[str, CachedRow | None], exact: str, folded: str) -> bool:
    """Whether these rows are all that the choice depends on."""
    return rows.get(exact) is not None or rows.keys() >= {exact, folded}


SELECT = sql_files.read("links/follow/select_links.sql")


class SelectedLink(NamedTuple):
    key: str
    is_alias: bool
    id: UUID
    url: str
    expires_at: datetime | None
    disabled_at: datetime | None
    used_at: datetime | None
    company_id: int
    batch_id: UUID | None
    utm: str
    expired_url: str
    is_once: bool
    channel: str | None


def from_sql(link: SelectedLink) -> CachedRow:
    return _to_cached_row(link, link.channel)


def from_link(link: Link) -> CachedRow | None:
    """The row of a link; None if it needs the message's channel, which only the database has."""
    if link.message_id and CHANNEL_PLACEHOLDER in link.utm:
        return None
    return _to_cached_row(link, None)


def _to_cached_row(link: SelectedLink | Link, channel: str | None) -> CachedRow:
    is_dead = link.disabled_at is not None or link.used_at is not None
    url = add_tags(link.url, link.utm, channel or "link")
    if link.is_once:
        # The first page of its host, without user and password: the URL may be a secret, and is
        # read when the link is opened.
        parts = urlsplit(url)
        url = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/"
    target = LinkTarget(
        link_id=link.id.hex,
        expires_at=link.expires_at.timestamp() if link.expires_at else None,
        url="" if is_dead else url,
        company_id=link.company_id,
        batch=batch_key(link.company_id, link.batch_id),
        is_once=link.is_once,
        expired_url=link.expired_url,
    )
    # The channel may still change.
    return CachedRow(link.is_alias, target, SHORT_TTL if is_dead or channel else LIVE_TTL)


INVALIDATED_TTL = 60  # seconds that a changed link stays out of Redis

# KEYS: of new links. ARGV: the row of each, empty if only the database has it, and its TTL in ms.
# Any other value of a key, such as the dead row whose alias was reassigned, becomes empty; an empty
# value stays. Returns how many keys were requested before their links existed.
_STORE_NEW = f"""
local early = 0
for i, key in ipairs(KEYS) do
  local held, row = redis.call('GET', key), ARGV[2 * i - 1]
  if held and held ~= row then early = early + 1 end
  if row ~= '' and (not held or held == 'null') then
    redis.call('SET', key, row, 'PX', ARGV[2 * i])
  elseif held and held ~= '' and held ~= row then
    redis.call('SET', key, '', 'EX', {INVALIDATED_TTL})
  end
end
return early
"""


def read(keys: Sequence[str]) -> dict[str, CachedRow | None]:
    values = call("MGET", *map(redis_key, keys))
    return {key: unpack(value) for key, value in zip(keys, values, strict=True) if value}


def store(rows: Mapping[str, CachedRow | None]) -> None:
    """Stores rows read from the database; overwrites nothing."""
    commands: list[Command] = [
        ("SET", redis_key(key), pack(row), "PX", ttl_ms(row), "NX") for key, row in rows.items()
    ]
    call_together(*commands)


def store_new(links: Collection[Link]) -> bool:
    """Stores new links; returns whether one of them was requested before it existed."""
    arguments: list[bytes | int] = []
    for row in map(from_link, links):
        arguments += [pack(row) if row else b"", ttl_ms(row)]
    keys = [redis_key(link.key) for link in links]
    early: Any = redis_client().eval(_STORE_NEW, len(keys), *keys, *arguments)
    return bool(early)


def invalidate(links: Collection[Link]) -> None:
    with redis_client().pipeline(transaction=False) as pipe:
        queue_invalidation(pipe, [link.key for link in links])
        pipe.execute()


def queue_invalidation(pipe: Pipeline, keys: Collection[str]) -> None:
    for key in keys:
        pipe.set(redis_key(key), b"", ex=INVALIDATED_TTL)
