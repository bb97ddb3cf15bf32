"""Sites that the operator lets no link lead to, with all that is under them."""

from django.conf import settings
from django.db.backends.utils import CursorWrapper

from config.process_cache import ProcessCache

_NONE: frozenset[str] = frozenset()


def _read(cursor: CursorWrapper) -> frozenset[str]:
    cursor.execute("SELECT host FROM links_blockedhost")
    return frozenset(host for (host,) in cursor)


_blocked = ProcessCache("blocked_hosts", _read, _NONE)
invalidate_cache = _blocked.invalidate


def is_blocked(domains: set[str]) -> bool:
    """`domains`: a host and every domain that it lies under."""
    return not (domains.isdisjoint(_blocked.get()) and domains.isdisjoint(settings.LINK_BLOCKLIST))
