"""The cached row of a link, made from PostgreSQL or from a link that was just made."""

from datetime import datetime
from typing import NamedTuple
from urllib.parse import urlsplit
from uuid import UUID

from links.addresses.utm_tags import CHANNEL_PLACEHOLDER, add_tags
from links.follow.cached_row import LIVE_TTL, SHORT_TTL, CachedRow, LinkTarget, batch_key
from links.models import Link

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


def from_sql(link: SelectedLink) -> CachedRow:
    return _cached(link, link.channel)


def from_link(link: Link) -> CachedRow | None:
    """Returns None when only the database knows the channel that the message goes by."""
    if link.message_id and CHANNEL_PLACEHOLDER in link.utm:
        return None
    return _cached(link, None)


def _cached(link: SelectedLink | Link, channel: str | None) -> CachedRow:
    is_dead = link.disabled_at is not None or link.used_at is not None
    url = add_tags(link.url, link.utm, channel or "link")
    if link.is_once:
        url = _host_of(url)  # the URL itself may be the secret, and is read when the link is opened
    target = LinkTarget(
        link_id=link.id.hex,
        expires_at=_seconds(link.expires_at),
        url="" if is_dead else url,
        company_id=link.company_id,
        batch=batch_key(link.company_id, link.batch_id),
        is_once=link.is_once,
        expired_url=link.expired_url,
    )
    # The channel may yet change.
    return CachedRow(link.is_alias, target, SHORT_TTL if is_dead or channel else LIVE_TTL)


def _host_of(url: str) -> str:
    """The URL of its host's first page, without user and password."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/"


def _seconds(at: datetime | None) -> float | None:
    return at.timestamp() if at else None
