"""What a process needs to know of a link, as PostgreSQL tells it and as Redis keeps it."""

import time
from collections.abc import Sequence
from datetime import datetime
from enum import Enum
from typing import Any, NamedTuple
from uuid import UUID

import orjson

from links.addresses.utm_settings import CHANNEL
from links.addresses.utm_tags import tagged
from links.models import Link

KNOWN = 86_400.0  # seconds a live link lives in Redis
ABSENT = 30.0  # seconds for what is not there, leads nowhere, or may soon lead elsewhere

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


class Dead(Enum):
    GONE = "gone"
    ONCE_GONE = "once_gone"  # the same of a link that opens once
    UNKNOWN = "unknown"


GONE, ONCE_GONE, UNKNOWN = Dead.GONE, Dead.ONCE_GONE, Dead.UNKNOWN


class Expired(NamedTuple):
    """No longer valid, but its owner has somewhere else to lead."""

    url: str
    is_once: bool

    def gone(self) -> Dead:
        return ONCE_GONE if self.is_once else GONE


class Found(NamedTuple):
    url: str
    link_id: str  # in hexadecimal
    expires_at: float | None = None  # Unix seconds
    company_id: int = 0
    batch: str = ""  # as in what is stopped
    is_once: bool = False
    expired_url: str = ""

    def gone(self) -> Dead:
        return ONCE_GONE if self.is_once else GONE

    def expired(self) -> Expired | Dead:
        return Expired(self.expired_url, self.is_once) if self.expired_url else self.gone()


Outcome = Found | Expired | Dead


class Row(NamedTuple):
    """In the order in which Redis holds it: another order or meaning needs another prefix."""

    is_alias: bool
    link_id: str
    expires_at: float | None
    url: str  # with its marks; empty: leads nowhere, whatever the time
    company_id: int
    batch: str
    is_once: bool
    expired_url: str
    lasts: float  # seconds Redis may keep it at most

    def outcome(self) -> Outcome:
        if not self.url:
            return ONCE_GONE if self.is_once else GONE
        return Found(
            self.url,
            self.link_id,
            self.expires_at,
            self.company_id,
            self.batch,
            self.is_once,
            self.expired_url,
        )

    def lifetime(self) -> float:
        """Seconds that Redis may keep it from now."""
        left = KNOWN if self.expires_at is None else self.expires_at - time.time()
        return min(self.lasts, left) if left > 0 else ABSENT


def batch_name(company_id: int, batch_id: UUID | None) -> str:
    """A batch as what is stopped names it: never one that is another company's."""
    return f"{company_id}/{batch_id.hex}" if batch_id else ""


def from_sql(fields: Sequence[Any]) -> Row:
    """Of a row of `SELECT`, without its key."""
    (is_alias, link_id, url, expires_at, is_dead, company, batch, utm, expired_url, once, channel
     ) = fields  # fmt: skip
    return Row(
        is_alias,
        link_id.hex,
        _seconds(expires_at),
        "" if is_dead else tagged(url, utm, channel or "link"),
        company,
        batch_name(company, batch),
        once,
        expired_url,
        ABSENT if is_dead or channel else KNOWN,  # a message may yet go on by another channel
    )


def of(link: Link) -> Row | None:
    """None when only the database can tell: by which channel its message goes."""
    if link.message_id and CHANNEL in link.utm:
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


def pack(row: Row | None) -> bytes:
    return orjson.dumps(tuple(row) if row else None)


def unpack(value: bytes) -> Row | None:
    fields = orjson.loads(value)
    return Row(*fields) if fields else None


def millis(row: Row | None) -> int:
    return max(1, int(1000 * (row.lifetime() if row else ABSENT)))
