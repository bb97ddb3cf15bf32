"""Sites, with their subdomains, that the operator forbids as targets."""

from django.conf import settings
from django.db.backends.utils import CursorWrapper

from config.storage.process_cache import SnapshotCache

_NONE: frozenset[str] = frozenset()


def _read(cursor: CursorWrapper) -> frozenset[str]:
    cursor.execute("SELECT host FROM links_blockedhost")
    return frozenset(host for (host,) in cursor)


_blocked = SnapshotCache("blocked_hosts", _read, _NONE)
invalidate_cache = _blocked.invalidate


def is_blocked(domains: set[str]) -> bool:
    """`domains`: a host and all its parent domains."""
    return not (domains.isdisjoint(_blocked.get()) and domains.isdisjoint(settings.LINK_BLOCKLIST))
