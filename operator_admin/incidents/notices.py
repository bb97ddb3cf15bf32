"""The notices that a company is shown: a process cache of the open incidents, seconds old.

A thread refreshes it, so pages without a notice read nothing. A dismissed notice is remembered in
the session; an update of its incident shows it again.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.contrib.sessions.backends.base import SessionBase
from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.utils import timezone

from accounts.models import Company
from catalogue import languages
from storage.process_cache import SnapshotCache
from storage.statements.named_rows import fetch_all

REFRESH_INTERVAL = 3.0
SESSION_KEY = "dismissed_notices"
MAX_DISMISSED = 50

_READ = """
SELECT i.id, u.id AS update_id, i.impact, i.state, i.channel, i.country, i.shown_from,
  i.shown_until, i.titles, u.texts, u.created_at, i.is_public
FROM operator_admin_incident i
JOIN LATERAL (
  SELECT id, texts, created_at FROM operator_admin_incidentupdate
  WHERE incident_id = i.id ORDER BY created_at DESC, id DESC LIMIT 1) u ON true
WHERE i.resolved_at IS NULL ORDER BY i.shown_from, i.id
"""

# The channels a company sends by: its newest messages and its counted days, each by its index.
_CHANNELS = """
SELECT channel FROM (
  SELECT channel FROM channels_message WHERE company_id = %(company)s AND mode = 'live'
  ORDER BY created_at DESC, id DESC LIMIT 500) newest
UNION SELECT channel FROM channels_daycount
WHERE company_id = %(company)s AND mode = 'live' AND day > current_date - 30
"""


@dataclass(frozen=True, slots=True)
class Notice:
    """An open incident and its last update."""

    id: int
    update_id: int
    impact: str
    state: str
    channel: str
    country: str
    shown_from: datetime
    shown_until: datetime | None
    titles: str  # JSON, by language, as a cursor returns it
    texts: str
    created_at: datetime
    is_public: bool

    @property
    def title(self) -> str:
        return str(json.loads(self.titles)[languages.active()])

    @property
    def text(self) -> str:
        return str(json.loads(self.texts)[languages.active()])

    @property
    def key(self) -> str:
        return f"{self.id}:{self.update_id}"

    def is_shown(self, now: datetime) -> bool:
        return self.shown_from <= now and (self.shown_until is None or now < self.shown_until)


def _read(cursor: CursorWrapper) -> tuple[Notice, ...]:
    cursor.execute(_READ)
    return tuple(fetch_all(cursor, Notice))


_cache: SnapshotCache[tuple[Notice, ...]] = SnapshotCache(
    "notices", _read, (), interval=REFRESH_INTERVAL
)
refresh, keep_fresh, reset = _cache.refresh, _cache.keep_fresh, _cache.reset


def for_company(company: Company, session: SessionBase) -> list[Notice]:
    now = timezone.now()
    shown = [row for row in _cache.value if row.is_shown(now)]
    if not shown:
        return []
    dismissed = set(session.get(SESSION_KEY, ()))
    left = [row for row in shown if row.key not in dismissed]
    of_country = [row for row in left if row.country in {"", company.country}]
    return list(_of_its_channels(of_country, company))


def _of_its_channels(notices: list[Notice], company: Company) -> Iterable[Notice]:
    """Reads the company's channels only if a notice is about one."""
    used = _channels(company) if any(row.channel for row in notices) else frozenset()
    return (row for row in notices if not row.channel or row.channel in used)


def _channels(company: Company) -> frozenset[str]:
    """The channels it sends by, and those it has chosen."""
    with connection.cursor() as cursor:
        cursor.execute(_CHANNELS, {"company": company.pk})
        sent_by = {channel for (channel,) in cursor.fetchall()}
    chosen = {company.default_channel, *company.fallback_chain}
    return frozenset(sent_by | chosen)


def dismiss(session: SessionBase, key: str) -> None:
    kept = [key_shown for key_shown in session.get(SESSION_KEY, ()) if key_shown != key]
    session[SESSION_KEY] = [*kept, key][-MAX_DISMISSED:]
