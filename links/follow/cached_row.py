"""The fields of a link that a redirect needs, read from PostgreSQL and cached in Redis."""

import time
from datetime import datetime
from enum import Enum
from typing import NamedTuple
from uuid import UUID

import orjson

from links.addresses.utm_settings import CHANNEL_PLACEHOLDER
from links.addresses.utm_tags import add_tags
from links.models import Link

LIVE_TTL = 86_400.0  # seconds that Redis keeps a live link
SHORT_TTL = 30.0  # seconds for a link that is missing, dead, or may soon change its target

# Retired rows never resolve. A slug in another case matches aliases alone. A message is joined only
# for a target that names its channel. There are always two keys: PostgreSQL would plan an array of
# unknown length anew each time.
SELECT = """
    SELECT l.key, l.is_alias, l.id, l.url, l.expires_at, l.disabled_at, l.used_at,
      l.company_id, l.batch_id, l.utm, l.expired_url, l.is_once, m.channel
    FROM links_link l LEFT JOIN channels_message m
      ON m.id = l.message_id AND position('{channel}' IN l.utm) > 0
    WHERE l.key IN (%s, %s) AND l.retired_at IS NULL
"""


class SelectedLink(NamedTuple):
    """A row of `SELECT`."""

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


class NoTarget(Enum):
    GONE = "gone"
    ONCE_GONE = "once_gone"  # of a one-time link
    UNKNOWN = "unknown"


GONE, ONE_TIME_GONE, NOT_FOUND = NoTarget.GONE, NoTarget.ONCE_GONE, NoTarget.UNKNOWN


class ExpiredTarget(NamedTuple):
    """The link has expired, and its owner redirects visitors elsewhere."""

    url: str
    is_once: bool

    def gone(self) -> NoTarget:
        return ONE_TIME_GONE if self.is_once else GONE


class LinkTarget(NamedTuple):
    """Stored in Redis in this order: another order or meaning needs another key prefix."""

    link_id: str  # in hexadecimal
    expires_at: float | None  # Unix seconds
    url: str  # with its UTM tags; empty for a dead link
    company_id: int
    batch: str = ""  # as `batch_key` has it
    is_once: bool = False
    expired_url: str = ""

    def gone(self) -> NoTarget:
        return ONE_TIME_GONE if self.is_once else GONE

    def expired(self) -> ExpiredTarget | NoTarget:
        return ExpiredTarget(self.expired_url, self.is_once) if self.expired_url else self.gone()


Resolution = LinkTarget | ExpiredTarget | NoTarget


class CachedRow(NamedTuple):
    is_alias: bool
    target: LinkTarget
    max_ttl: float  # seconds

    def resolution(self) -> Resolution:
        return self.target if self.target.url else self.target.gone()

    def ttl(self) -> float:
        """Seconds that Redis may keep the row from now."""
        expires_at = self.target.expires_at
        left = LIVE_TTL if expires_at is None else expires_at - time.time()
        return min(self.max_ttl, left) if left > 0 else SHORT_TTL


def batch_key(company_id: int, batch_id: UUID | None) -> str:
    """The batch among the stops, with its company: a stop never matches another company's batch."""
    return f"{company_id}/{batch_id.hex}" if batch_id else ""


def from_sql(link: SelectedLink) -> CachedRow:
    return _cached(link, link.channel)


def from_link(link: Link) -> CachedRow | None:
    """Returns None when only the database knows the channel that the message goes by."""
    if link.message_id and CHANNEL_PLACEHOLDER in link.utm:
        return None
    return _cached(link, None)


def _cached(link: SelectedLink | Link, channel: str | None) -> CachedRow:
    is_dead = link.disabled_at is not None or link.used_at is not None
    target = LinkTarget(
        link_id=link.id.hex,
        expires_at=_seconds(link.expires_at),
        url="" if is_dead else add_tags(link.url, link.utm, channel or "link"),
        company_id=link.company_id,
        batch=batch_key(link.company_id, link.batch_id),
        is_once=link.is_once,
        expired_url=link.expired_url,
    )
    # The channel may yet change.
    return CachedRow(link.is_alias, target, SHORT_TTL if is_dead or channel else LIVE_TTL)


def _seconds(at: datetime | None) -> float | None:
    return at.timestamp() if at else None


def redis_key(key: str) -> str:
    return f"l2:{key}"


def pack(row: CachedRow | None) -> bytes:
    return orjson.dumps((row.is_alias, *row.target, row.max_ttl) if row else None)


def unpack(value: bytes) -> CachedRow | None:
    fields = orjson.loads(value)
    if not fields:
        return None
    is_alias, *target, max_ttl = fields
    return CachedRow(is_alias, LinkTarget(*target), max_ttl)


def ttl_ms(row: CachedRow | None) -> int:
    return max(1, int(1000 * (row.ttl() if row else SHORT_TTL)))
