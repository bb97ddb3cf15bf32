"""What request headers tell about a visit: device, referring host, country. No address is kept."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from accounts.client_ip import client_ip
from links.clicks import geoip
from links.clicks.header_cache import cached


class Device(StrEnum):
    ANDROID = "android"
    IOS = "ios"
    WINDOWS = "windows"
    MACOS = "macos"
    LINUX = "linux"
    OTHER = ""


# The order matters: Android names Linux too, and an iPad calls itself a Mac.
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
    """The host alone: the rest of a URL may identify the visitor."""
    referrer = environ.get("HTTP_REFERER", "")
    return cached(_hosts, referrer, _host_of) if referrer else ""


def country_of(environ: Mapping[str, Any]) -> str:
    """Two letters, from a trusted proxy's header or from a local database."""
    if header := settings.COUNTRY_HEADER:
        code = environ.get(header, "")
    elif settings.COUNTRY_DATABASE:
        code = geoip.country(client_ip(environ))
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
