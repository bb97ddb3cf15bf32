"""The country of an address, from a database of the operator's own. No address is stored."""

from functools import cache
from importlib import import_module
from typing import Any

import structlog
from django.conf import settings

log = structlog.get_logger(__name__)


def country(address: str) -> str:
    """Two letters; empty without a database or for an unknown address."""
    database = _database(settings.COUNTRY_DATABASE)
    if database is None:
        return ""
    try:
        code = database.get(address)["country"]["iso_code"]
    except Exception:  # no address, none found, a file of another shape or a damaged one:
        return ""  # whatever it is, a click counts without its country
    return code if isinstance(code, str) else ""


@cache
def _database(path: str) -> Any:
    """Read once in a process: a newer file is seen after a restart."""
    if not path:
        return None
    try:
        return import_module("maxminddb").open_database(path)  # an optional dependency
    except Exception:  # no file, no library, or a damaged file
        log.exception("geoip_database_not_opened", path=path)
        return None
