"""The code that a phone shows."""

from otp import codes
from otp.models import Verification


def verification_of(phone: str, purpose: str = "verification", mode: str = "live") -> Verification:
    return Verification.objects.get(
        phone=phone, purpose=purpose, mode=mode, superseded_at__isnull=True
    )


def code_of(phone: str, purpose: str = "verification", mode: str = "live") -> str:
    found = verification_of(phone, purpose, mode)
    return codes.derive(found.id, key_id=found.key_id, length=found.length)


def wrong_code(phone: str, purpose: str = "verification", mode: str = "live") -> str:
    """One that differs in its last digit."""
    code = code_of(phone, purpose, mode)
    return code[:-1] + str((int(code[-1]) + 1) % 10)
