"""Whose address a request came from, believing only the proxies we run."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings


def client_ip(meta: Mapping[str, Any]) -> str:
    """With n trusted proxies, the n-th address from the right of X-Forwarded-For.

    Everything further left was written by the client and proves nothing.
    """
    count = settings.TRUSTED_PROXY_COUNT
    forwarded = [part.strip() for part in meta.get("HTTP_X_FORWARDED_FOR", "").split(",")]
    if count and len(forwarded) >= count and forwarded[-count]:
        return str(forwarded[-count])
    return str(meta.get("REMOTE_ADDR", ""))
