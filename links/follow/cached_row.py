"""The fields of a link that a redirect needs, as they are cached in Redis."""

import time
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple
from uuid import UUID

import orjson

LIVE_TTL = 86_400.0  # seconds that Redis keeps a live link
SHORT_TTL = 30.0  # seconds for a link that is missing, dead, or may soon change its target


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
    """Stored in Redis in this order: another order or meaning needs another key prefix. A field may
    be added at the end, with a default.
    """

    link_id: str  # in hexadecimal
    expires_at: float | None  # Unix seconds
    url: str  # with its UTM tags; of a one-time link its host alone; empty for a dead link
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


def redis_key(key: str) -> str:
    return f"l2:{key}"


def pack(row: CachedRow | None) -> bytes:
    return orjson.dumps((row.is_alias, *row.target, row.max_ttl) if row else None)


def unpack(value: bytes) -> CachedRow | None:
    fields = orjson.loads(value)
    if not fields:
        return None
    is_alias, *target, max_ttl = fields
    known = target[: len(LinkTarget._fields)]  # a newer release adds fields
    return CachedRow(is_alias, LinkTarget(*known), max_ttl)


def ttl_ms(row: CachedRow | None) -> int:
    return max(1, int(1000 * (row.ttl() if row else SHORT_TTL)))


def unpack_all(keys: Sequence[str], values: Sequence[Any]) -> dict[str, CachedRow | None]:
    """The cached rows among these keys, from the values that Redis has for them."""
    return {key: unpack(value) for key, value in zip(keys, values, strict=True) if value}


def choose(rows: Mapping[str, CachedRow | None], exact: str, folded: str) -> CachedRow | None:
    """The row with exactly this key, else the alias that differs from it in case alone."""
    alias = rows.get(folded)
    return rows.get(exact) or (alias if alias and alias.is_alias else None)


def is_decided(rows: Mapping[str, CachedRow | None], exact: str, folded: str) -> bool:
    """Whether these rows are all that the choice depends on."""
    return rows.get(exact) is not None or rows.keys() >= {exact, folded}
