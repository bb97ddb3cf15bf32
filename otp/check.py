"""Checks a one-time code that a person typed in."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from accounts.keys.api_keys import Principal
from channels import wakeups
from channels.routing import test_numbers
from config.errors import DomainError, Error
from otp import codes, guess_cap, sql


@dataclass(frozen=True, slots=True)
class Verified:
    id: UUID
    verified_at: datetime


def check_code(*, principal: Principal, phone: str, purpose: str, code: str) -> Verified:
    """Spends one attempt and consumes a right code; raises the refusal as a DomainError."""
    test_numbers.refuse_scripted_guess(principal, phone)
    params: dict[str, Any] = {
        "company_id": principal.company_id,
        "mode": principal.mode,
        "phone": phone,
        "purpose": purpose,
        "macs": codes.candidate_macs(
            company_id=principal.company_id,
            mode=principal.mode,
            phone=phone,
            purpose=purpose,
            code=code,
        ),
        **guess_cap.cap_params(),
    }
    with connection.cursor() as cursor:
        cursor.execute(sql.CHECK_CODE, params)
        row = cursor.fetchone()
        if row is None:
            cursor.execute(sql.REFUSAL_STATE, params)
            raise guess_cap.check_refusal(principal, phone, cursor.fetchone())
    verification_id, verified_at, attempts_left = row
    if verified_at is None:
        raise DomainError(Error.CODE_INVALID, attempts_left=attempts_left)
    transaction.on_commit(wakeups.wake_workers)
    return Verified(verification_id, verified_at)
