"""The details of a visit from its headers: device, referring host, country. Stores no address."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from importlib import import_module
from typing import Any, TypeVar
from urllib.parse import urlsplit

import structlog
from django.conf import settings

from processes.server.client_ip import client_ip

MAX_ENTRIES = 20_000
MAX_HEADER_LENGTH = 512

T = TypeVar("T")

log = structlog.get_logger(__name__)


class Device(StrEnum):
    ANDROID = "android"
    IOS = "ios"
    WINDOWS = "windows"
    MACOS = "macos"
    LINUX = "linux"
    OTHER = ""


# The order matters: Android also contains Linux, and an iPad calls itself a Mac.
_DEVICES = {
    "android": Device.ANDROID,
    "iphone": Device.IOS,
    "ipad": Device.IOS,
    "ipod": Device.IOS,
    "windows": Device.WINDOWS,
    "mac os": Device.MACOS,
    "macintosh": Device.MACOS,
    "linux": Device.LINUX,
    "cros": Device.LINUX,
}
MAX_HOST_LENGTH = 100

_devices: dict[str, Device] = {}
_hosts: dict[str, str] = {}


def device_of(environ: Mapping[str, Any]) -> Device:
    return cached(_devices, environ.get("HTTP_USER_AGENT", ""), _device_of_agent)


def referrer_of(environ: Mapping[str, Any]) -> str:
    """The referring host, without the rest of the URL, which may identify the visitor."""
    referrer = environ.get("HTTP_REFERER", "")
    return cached(_hosts, referrer, _host_of) if referrer else ""


def country_of(environ: Mapping[str, Any]) -> str:
    """The country's two letters, from a trusted proxy's header or from a local database."""
    if header := settings.COUNTRY_HEADER:
        code = environ.get(header, "")
    elif settings.COUNTRY_DATABASE:
        code = country(client_ip(environ))
    else:
        return ""
    is_code = len(code) == 2 and code.isascii() and code.isalpha()
    return code.upper() if is_code and code.upper() not in {"XX", "T1"} else ""


def _device_of_agent(user_agent: str) -> Device:
    agent = user_agent.lower()
    return next((device for token, device in _DEVICES.items() if token in agent), Device.OTHER)


def _host_of(referrer: str) -> str:
    try:
        host = urlsplit(referrer).hostname or ""
    except ValueError:
        return ""
    return host[:MAX_HOST_LENGTH] if host.isascii() and host.isprintable() else ""


def cached(cache: dict[str, T], header: str, parse: Callable[[str], T]) -> T:
    """The parsed value of a header; a repeated one costs one dictionary lookup."""
    value = cache.get(header)
    if value is None:
        value = parse(header)
        if len(cache) >= MAX_ENTRIES:
            cache.clear()
        if len(header) <= MAX_HEADER_LENGTH:
            cache[header] = value
    return value


def country(address: str) -> str:
    """The country's two letters; empty without a database or for an unknown address."""
    database = _database(settings.COUNTRY_DATABASE)
    if database is None:
        return ""
    try:
        code = database.get(address)["country"]["iso_code"]
    except Exception:  # no address, no match, a file of another format or a damaged file:
        return ""  # in each case the click counts without its country
    return code if isinstance(code, str) else ""


@cache
def _database(path: str) -> Any:
    """The database's reader, opened once per process: a newer file needs a restart."""
    if not path:
        return None
    try:
        return import_module("maxminddb").open_database(path)  # an optional dependency
    except Exception:  # no file, no library, or a damaged file
        log.exception("geoip_database_not_opened", path=path)
        return None
