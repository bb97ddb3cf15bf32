"""Hosts of companies' own that short links may be under: few, and known to every process.

Read again every few seconds, by one thread while others go on with what they have. Without the
database what is known stays in force.
"""

import os
import threading
import time
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.db import DatabaseError, connection

FRESH = 5.0  # seconds

log = structlog.get_logger(__name__)


class Host(NamedTuple):
    id: int
    host: str  # lower case, ASCII
    company_id: int


class _Hosts:
    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """A forked child inherits locks in any state."""
        self._by_name: Mapping[str, Host] = {}
        self._fresh_until = float("-inf")
        self._reading = threading.Lock()

    def by_name(self) -> Mapping[str, Host]:
        if time.monotonic() >= self._fresh_until:
            self._refresh()
        return self._by_name

    def forget(self) -> None:
        self._fresh_until = float("-inf")

    def _refresh(self) -> None:
        # Who comes while the first read of a process is under way waits for it.
        is_first = self._fresh_until == float("-inf")
        if not self._reading.acquire(blocking=is_first):
            return
        try:
            if time.monotonic() >= self._fresh_until:
                self._by_name = _read()
        except DatabaseError as error:
            log.warning("hosts_not_read", error=type(error).__name__)
        finally:
            self._fresh_until = time.monotonic() + FRESH
            self._reading.release()


def _read() -> dict[str, Host]:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT id, host, company_id FROM links_shorthost")
            return {host: Host(host_id, host, company) for host_id, host, company in cursor}
    finally:
        if not connection.in_atomic_block:
            connection.close()  # back to the pool: no Django request may end here


_hosts = _Hosts()
os.register_at_fork(after_in_child=_hosts.reset)
forget = _hosts.forget


def find(host: str) -> Host | None:
    """A host of some company's own, by its name in lower case without a port."""
    return _hosts.by_name().get(host)


def base_url(host_id: int | None) -> str:
    """What a slug is put after; the service's own host unless there is another."""
    if host_id is None:
        return str(settings.SHORT_URL)
    found = next((one for one in _hosts.by_name().values() if one.id == host_id), None)
    scheme = urlsplit(settings.SHORT_URL).scheme
    return f"{scheme}://{found.host}" if found else str(settings.SHORT_URL)
