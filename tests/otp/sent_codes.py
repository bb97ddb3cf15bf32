"""The code that a phone shows."""

from datetime import timedelta

from django.db.models import F

from api.models import IdempotentRequest
from channels.models import Message
from otp import codes
from otp.models import Verification
from storage.redis_client import redis_client


def verification_of(phone: str, purpose: str = "verification", mode: str = "live") -> Verification:
    return Verification.objects.get(
        phone=phone, purpose=purpose, mode=mode, superseded_at__isnull=True
    )


def code_of(phone: str, purpose: str = "verification", mode: str = "live") -> str:
    result = verification_of(phone, purpose, mode)
    return codes.derive(result.id, key_id=result.key_id, length=result.length)


def wrong_code(phone: str, purpose: str = "verification", mode: str = "live") -> str:
    """One that differs in its last digit."""
    code = code_of(phone, purpose, mode)
    return code[:-1] + str((int(code[-1]) + 1) % 10)


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
