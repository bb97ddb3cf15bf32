"""The notices shown to a company: a process cache of the open incidents, a few seconds old.

A thread refreshes it, so pages without a notice read nothing. A dismissed notice is remembered in
the session; an update of its incident shows it again.
"""

from datetime import datetime

from django.contrib.sessions.backends.base import SessionBase
from django.db.backends.utils import CursorWrapper
from django.utils import timezone

from accounts.models import Company
from operator_admin.models import Incident
from storage.process_cache import SnapshotCache
from storage.statements import sql_files
from storage.statements.queries import fetch_column

REFRESH_INTERVAL = 3.0
SESSION_KEY = "dismissed_notices"
MAX_DISMISSED = 50
MAX_KEY = 40  # characters: a URL may contain any numbers

_CHANNELS = sql_files.read("operator_admin/incidents/used_channels.sql")


def _read(_cursor: CursorWrapper) -> tuple[Incident, ...]:
    rows = Incident.objects.open().order_by("shown_from", "pk").prefetch_related("updates")
    return tuple(row for row in rows if row.newest_updates)


_cache: SnapshotCache[tuple[Incident, ...]] = SnapshotCache(
    "notices", _read, (), interval=REFRESH_INTERVAL
)
refresh = _cache.refresh
keep_fresh = _cache.keep_fresh
reset = _cache.reset


def for_company(company: Company, session: SessionBase) -> list[Incident]:
    """The notices to show to a company, whose channels are read only if a notice is about one."""
    now = timezone.now()
    current = [row for row in _cache.value if _is_shown(row, now)]
    if not current:
        return []
    dismissed = set(session.get(SESSION_KEY, ()))
    incidents = [row for row in current if _key(row) not in dismissed]
    of_country = [row for row in incidents if row.country in {"", company.country}]
    used = _channels(company) if any(row.channel for row in of_country) else frozenset()
    return [row for row in of_country if not row.channel or row.channel in used]


def _is_shown(row: Incident, now: datetime) -> bool:
    return row.shown_from <= now and (row.shown_until is None or now < row.shown_until)


def _key(row: Incident) -> str:
    return f"{row.pk}:{row.newest_updates[0].pk}"


def _channels(company: Company) -> frozenset[str]:
    """The channels that the company has used or chosen."""
    sent_by = set(fetch_column(_CHANNELS, {"company": company.pk}))
    configured = {company.default_channel, *company.fallback_chain}
    return frozenset(sent_by | configured)


def dismiss(session: SessionBase, key: str) -> None:
    dismissed = [key_shown for key_shown in session.get(SESSION_KEY, ()) if key_shown != key]
    session[SESSION_KEY] = [*dismissed, key[:MAX_KEY]][-MAX_DISMISSED:]
