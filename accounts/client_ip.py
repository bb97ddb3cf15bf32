"""The client's IP address, trusting only our own proxies."""

from collections.abc import Mapping
from functools import lru_cache
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Any

from django.conf import settings
from django.http import HttpRequest


def client_ip(meta: Mapping[str, Any]) -> str:
    """With n trusted proxies, the n-th address from the right of X-Forwarded-For.

    Everything further left is written by the client and cannot be trusted.
    """
    count = settings.TRUSTED_PROXY_COUNT
    forwarded = [part.strip() for part in meta.get("HTTP_X_FORWARDED_FOR", "").split(",")]
    if count and len(forwarded) >= count and forwarded[-count]:
        return str(forwarded[-count])
    return str(meta.get("REMOTE_ADDR", ""))


def address_of(request: HttpRequest | None) -> str | None:
    """The client's IP address for the database; None without one, as on a Unix socket."""
    try:
        return str(ip_address(client_ip(request.META))) if request else None
    except ValueError:
        return None


@lru_cache(maxsize=1024)  # vendors call from a few addresses
def client_network(ip: str) -> str:
    """What limits count as one client: an IPv4 address, or the /64 of an IPv6 address.

    Empty for an invalid address.
    """
    try:
        address = ip_address(ip.partition("%")[0])
    except ValueError:
        return ""
    if not isinstance(address, IPv6Address):
        return str(address)
    return str(address.ipv4_mapped or IPv6Network((address, 64), strict=False))
