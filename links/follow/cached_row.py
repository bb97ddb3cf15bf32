"""The fields of a link that a redirect needs, read from PostgreSQL and cached in Redis."""

import time
from collections.abc import Sequence
from datetime import datetime
from enum import Enum
from typing import Any, NamedTuple
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
    SELECT l.key, l.is_alias, l.id, l.url, l.expires_at,
      l.disabled_at IS NOT NULL OR l.used_at IS NOT NULL,
      l.company_id, l.batch_id, l.utm, l.expired_url, l.is_once, m.channel
    FROM links_link l LEFT JOIN channels_message m
      ON m.id = l.message_id AND position('{channel}' IN l.utm) > 0
    WHERE l.key IN (%s, %s) AND l.retired_at IS NULL
"""


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
    url: str
    link_id: str  # in hexadecimal
    expires_at: float | None = None  # Unix seconds
    company_id: int = 0
    batch: str = ""  # as `batch_key` has it
    is_once: bool = False
    expired_url: str = ""

    def gone(self) -> NoTarget:
        return ONE_TIME_GONE if self.is_once else GONE

    def expired(self) -> ExpiredTarget | NoTarget:
        return ExpiredTarget(self.expired_url, self.is_once) if self.expired_url else self.gone()


Resolution = LinkTarget | ExpiredTarget | NoTarget


class CachedRow(NamedTuple):
    """Stored in Redis in this order: another order or meaning needs another key prefix."""

    is_alias: bool
    link_id: str
    expires_at: float | None
    url: str  # with its UTM tags; empty for a dead link
    company_id: int
    batch: str
    is_once: bool
    expired_url: str
    max_ttl: float  # seconds

    def resolution(self) -> Resolution:
        if not self.url:
            return ONE_TIME_GONE if self.is_once else GONE
        return LinkTarget(
            self.url,
            self.link_id,
            self.expires_at,
            self.company_id,
            self.batch,
            self.is_once,
            self.expired_url,
        )

    def ttl(self) -> float:
        """Seconds that Redis may keep the row from now."""
        left = LIVE_TTL if self.expires_at is None else self.expires_at - time.time()
        return min(self.max_ttl, left) if left > 0 else SHORT_TTL


def batch_key(company_id: int, batch_id: UUID | None) -> str:
    """The batch among the stops, with its company: a stop never matches another company's batch."""
    return f"{company_id}/{batch_id.hex}" if batch_id else ""


def from_sql(fields: Sequence[Any]) -> CachedRow:
    """Takes a row of `SELECT` without its key."""
    (is_alias, link_id, url, expires_at, is_dead, company, batch, utm, expired_url, once, channel
     ) = fields  # fmt: skip
    return CachedRow(
        is_alias,
        link_id.hex,
        _seconds(expires_at),
        "" if is_dead else add_tags(url, utm, channel or "link"),
        company,
        batch_key(company, batch),
        once,
        expired_url,
        SHORT_TTL if is_dead or channel else LIVE_TTL,  # the channel may yet change
    )


def from_link(link: Link) -> CachedRow | None:
    """Returns None when only the database knows the channel that the message goes by."""
    if link.message_id and CHANNEL_PLACEHOLDER in link.utm:
        return None
    is_dead = link.disabled_at is not None or link.used_at is not None
    return from_sql(
        (
            link.is_alias,
            link.id,
            link.url,
            link.expires_at,
            is_dead,
            link.company_id,
            link.batch_id,
            link.utm,
            link.expired_url,
            link.is_once,
            None,
        )
    )


def _seconds(at: datetime | None) -> float | None:
    return at.timestamp() if at else None


def redis_key(key: str) -> str:
    return f"l2:{key}"


def pack(row: CachedRow | None) -> bytes:
    return orjson.dumps(tuple(row) if row else None)


def unpack(value: bytes) -> CachedRow | None:
    fields = orjson.loads(value)
    return CachedRow(*fields) if fields else None


def ttl_ms(row: CachedRow | None) -> int:
    return max(1, int(1000 * (row.ttl() if row else SHORT_TTL)))
