"""The country of an address, by a database of the operator's own. The address is kept nowhere."""

from functools import cache
from importlib import import_module
from typing import Any

import structlog
from django.conf import settings

log = structlog.get_logger(__name__)


def country(address: str) -> str:
    """Two letters; empty where the database, or whoever is asked for, is not known."""
    database = _database(settings.COUNTRY_DATABASE)
    if database is None:
        return ""
    try:
        found = database.get(address) or {}
    except ValueError:  # no address
        return ""
    return str(found.get("country", {}).get("iso_code", ""))


@cache
def _database(path: str) -> Any:
    """Read once in a process: a newer file is seen after a restart."""
    if not path:
        return None
    try:
        return import_module("maxminddb").open_database(path)  # needed by nobody else
    except (OSError, ImportError, RuntimeError, ValueError):
        log.exception("no_country_database", path=path)
        return None
