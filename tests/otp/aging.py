"""Ages rows in the database and clears the limits in Redis, as if time had passed."""

from datetime import timedelta

from django.db.models import F

from accounts.models import IdempotentRequest
from channels.models import Message
from config.storage.redis_client import redis_client
from otp.models import Verification


def age_rows(**by: float) -> None:
    """Moves every timestamp back by this much and clears the counters in Redis."""
    forget_limits()
    shift = timedelta(**by)
    Verification.objects.update(
        created_at=F("created_at") - shift,
        expires_at=F("expires_at") - shift,
        judged_at=F("judged_at") - shift,
        verified_at=F("verified_at") - shift,
    )
    Message.objects.update(
        created_at=F("created_at") - shift,
        due_at=F("due_at") - shift,
        useful_until=F("useful_until") - shift,
        deadline=F("deadline") - shift,
        fallback_at=F("fallback_at") - shift,
    )
    IdempotentRequest.objects.update(created_at=F("created_at") - shift)


def forget_limits() -> None:
    redis_client().flushdb()
