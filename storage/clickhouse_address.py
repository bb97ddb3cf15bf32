"""Reads where ClickHouse is: `https://user:password@host:8443/database`, or by plain http."""

from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

_PORTS = {"http": 8123, "https": 8443}
_SHAPE = "CLICKHOUSE_URL must be https://user:password@host:8443/database, or http"


@dataclass(frozen=True)
class ClickHouseAddress:
    url: str  # without user, password and database
    user: str
    password: str = field(repr=False)
    database: str


def parse(text: str) -> ClickHouseAddress:
    """Raises ImproperlyConfigured, which does not quote the text: it may hold a password."""
    try:
        parts = urlsplit(text)
        port = parts.port or _PORTS[parts.scheme]
    except (ValueError, LookupError):
        raise ImproperlyConfigured(_SHAPE) from None
    if not parts.hostname or parts.query or parts.fragment or "/" in parts.path[1:]:
        raise ImproperlyConfigured(_SHAPE)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return ClickHouseAddress(
        url=f"{parts.scheme}://{host}:{port}/",
        user=unquote(parts.username or "default"),
        password=unquote(parts.password or ""),
        database=unquote(parts.path[1:]) or "default",
    )
