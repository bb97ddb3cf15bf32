"""What a process needs to know of a link, as PostgreSQL tells it and as Redis keeps it."""

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

LIVE_TTL = 86_400.0  # seconds a live link lives in Redis
SHORT_TTL = 30.0  # seconds for what is not there, leads nowhere, or may soon lead elsewhere

# Retired rows are history. With another case in the slug only an alias may answer. A message is
# looked at only for a target that names its channel. Two names, as many as there can be: an array
# of unknown length PostgreSQL would plan for anew each time.
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
    ONCE_GONE = "once_gone"  # the same of a link that opens once
    UNKNOWN = "unknown"


GONE, ONE_TIME_GONE, NOT_FOUND = NoTarget.GONE, NoTarget.ONCE_GONE, NoTarget.UNKNOWN


class ExpiredTarget(NamedTuple):
    """No longer valid, but its owner has somewhere else to lead."""

    url: str
    is_once: bool

    def gone(self) -> NoTarget:
        return ONE_TIME_GONE if self.is_once else GONE


class LinkTarget(NamedTuple):
    url: str
    link_id: str  # in hexadecimal
    expires_at: float | None = None  # Unix seconds
    company_id: int = 0
    batch: str = ""  # as in what is stopped
    is_once: bool = False
    expired_url: str = ""

    def gone(self) -> NoTarget:
        return ONE_TIME_GONE if self.is_once else GONE

    def expired(self) -> ExpiredTarget | NoTarget:
        return ExpiredTarget(self.expired_url, self.is_once) if self.expired_url else self.gone()


Resolution = LinkTarget | ExpiredTarget | NoTarget


class CachedRow(NamedTuple):
    """In the order in which Redis holds it: another order or meaning needs another prefix."""

    is_alias: bool
    link_id: str
    expires_at: float | None
    url: str  # with its marks; empty: leads nowhere, whatever the time
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
        """Seconds that Redis may keep it from now."""
        left = LIVE_TTL if self.expires_at is None else self.expires_at - time.time()
        return min(self.max_ttl, left) if left > 0 else SHORT_TTL


def batch_key(company_id: int, batch_id: UUID | None) -> str:
    """A batch as what is stopped names it: never one that is another company's."""
    return f"{company_id}/{batch_id.hex}" if batch_id else ""


def from_sql(fields: Sequence[Any]) -> CachedRow:
    """Of a row of `SELECT`, without its key."""
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
        SHORT_TTL if is_dead or channel else LIVE_TTL,  # a message may yet go on by another channel
    )


def from_link(link: Link) -> CachedRow | None:
    """None when only the database can tell: by which channel its message goes."""
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
