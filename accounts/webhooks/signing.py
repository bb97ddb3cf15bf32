"""Standard Webhooks signatures (https://www.standardwebhooks.com).

An endpoint's secret is derived from a server key, the endpoint's id and its generation, so the
database holds nothing that could sign.
"""

import base64
import hashlib
import hmac
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from django.conf import settings
from django.utils import timezone
from standardwebhooks import Webhook

from accounts.models import Endpoint

PREFIX = "whsec_"


def current_key_id() -> str:
    """The server key from which new secrets are derived."""
    return next(iter(settings.WEBHOOK_KEYS))


def secrets_by_key() -> Counter[str]:
    """How many secrets that sign are derived from each server key."""
    endpoints = Endpoint.objects.filter(deleted_at=None)
    replaced = endpoints.filter(previous_until__gt=timezone.now())
    current = Counter(endpoints.values_list("key_id", flat=True))
    return current + Counter(replaced.values_list("previous_key_id", flat=True))


def secret(endpoint_id: UUID, key_id: str, generation: int) -> str:
    """Derive a secret; raises KeyError when the server key was removed."""
    # The prefix stays: another one would change every secret that receivers hold.
    subject = f"callback:{endpoint_id}:{generation}".encode()
    digest = hmac.new(settings.WEBHOOK_KEYS[key_id], subject, hashlib.sha256).digest()
    return PREFIX + base64.b64encode(digest).decode()


def headers(secrets: Sequence[str], event_id: str, body: bytes, at: datetime) -> dict[str, str]:
    """Sign with every secret: during a rotation the receiver may know either."""
    text = body.decode()
    utc = at.astimezone(UTC)  # the library ignores the time zone
    signatures = [Webhook(one).sign(event_id, utc, text) for one in secrets]
    return {
        "webhook-id": event_id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": " ".join(signatures),
    }
