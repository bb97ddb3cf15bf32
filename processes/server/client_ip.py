"""The client's IP address, trusting only our own proxies."""

import re
from collections.abc import Mapping
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Any

from django.conf import settings
from django.http import HttpRequest

from parsing.text_cache import text_cache

# `203.0.113.7:51234`, `[2001:db8::1]:443` and `[2001:db8::1]`, as Azure's gateway and IIS write it,
# and `::ffff:203.0.113.7:51234`, from dual-stack sockets.
_WITH_PORT = re.compile(
    r"(?:\[([0-9A-Fa-f:.]+)\]|(?:::ffff:)?([0-9]+(?:\.[0-9]+){3}))(?::[0-9]{1,5})?", re.IGNORECASE
)


def client_ip(meta: Mapping[str, Any]) -> str:
    """The client's address: with n trusted proxies, the n-th from the right of X-Forwarded-For.

    Everything further left is written by the client and cannot be trusted.
    """
    if count := settings.TRUSTED_PROXY_COUNT:
        forwarded = [part.strip() for part in meta.get("HTTP_X_FORWARDED_FOR", "").split(",")]
        if len(forwarded) >= count and forwarded[-count]:
            return _unmapped(_without_port(forwarded[-count]))
    return _unmapped(str(meta.get("REMOTE_ADDR", "")))


def _without_port(text: str) -> str:
    match = _WITH_PORT.fullmatch(text) if ":" in text else None
    return (match[1] or match[2]) if match else text


def _unmapped(text: str) -> str:
    """Turns a dual-stack socket's `::ffff:203.0.113.7` into 203.0.113.7.

    By the first 64 bits all IPv4 clients would otherwise be one network.
    """
    try:
        address = ip_address(text) if ":" in text else None
    except ValueError:
        return text
    return str(getattr(address, "ipv4_mapped", None) or text)


def address_of(request: HttpRequest | None) -> str | None:
    """The client's IP address for the database; None without one, as on a Unix socket."""
    try:
        return str(ip_address(client_ip(request.META))) if request else None
    except ValueError:
        return None


@text_cache(1024)  # vendors call from a few addresses
def client_network(ip: str) -> str:
    """The network that limits count as one client: an IPv4 address, or the /64 of an IPv6 address.

    Empty for an invalid address.
    """
    try:
        address = ip_address(ip.partition("%")[0])
    except ValueError:
        return ""
    if not isinstance(address, IPv6Address):
        return str(address)
    return str(IPv6Network((address, 64), strict=False))
