"""Standard Webhooks signatures (https://www.standardwebhooks.com).

An endpoint's secret is derived from a server key, the endpoint's id and its generation, so the
database contains nothing that could sign.
"""

import base64
import hashlib
import hmac
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.utils import timezone
from standardwebhooks import Webhook

from webhooks.models import Endpoint

PREFIX = "whsec_"


def current_key_id() -> str:
    """The server key from which new secrets are derived."""
    return next(iter(settings.WEBHOOK_KEYS))


def still_signing(older: list[dict[str, Any]], now: datetime) -> list[dict[str, Any]]:
    """The entries of `Endpoint.older_secrets` that still sign."""
    return [key for key in older if datetime.fromisoformat(key["until"]) > now]


def secrets_by_key() -> Counter[str]:
    """The number of signing secrets that are derived from each server key."""
    now = timezone.now()
    endpoints = Endpoint.objects.filter(deleted_at=None)
    replaced = endpoints.filter(previous_until__gt=now)
    older = replaced.exclude(older_secrets=[]).values_list("older_secrets", flat=True)
    return (
        Counter(endpoints.values_list("key_id", flat=True))
        + Counter(replaced.values_list("previous_key_id", flat=True))
        + Counter(key["key_id"] for several in older for key in still_signing(several, now))
    )


def secret(endpoint_id: UUID, key_id: str, generation: int) -> str:
    """Derives a secret; raises KeyError when the server key was removed."""
    # The prefix must stay: another one would change every secret that receivers have stored.
    subject = f"callback:{endpoint_id}:{generation}".encode()
    digest = hmac.new(settings.WEBHOOK_KEYS[key_id], subject, hashlib.sha256).digest()
    return PREFIX + base64.b64encode(digest).decode()


def headers(secrets: Sequence[str], event_id: str, body: bytes, at: datetime) -> dict[str, str]:
    """The headers with a signature by every secret: during a rotation the receiver has any."""
    text = body.decode()
    utc = at.astimezone(UTC)  # the library ignores the time zone
    signatures = [Webhook(secret).sign(event_id, utc, text) for secret in secrets]
    return {
        "webhook-id": event_id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": " ".join(signatures),
    }
