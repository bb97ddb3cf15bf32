"""Checks a one-time code that a person typed in."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from accounts.keys.api_keys import Principal
from channels import wakeups
from channels.routing import test_numbers
from config.errors import DomainError, Error
from config.storage.statements.array_text import array_text
from config.storage.statements.single_statement import after_commit, fetch_rows
from otp import codes, guess_cap, sql


@dataclass(frozen=True, slots=True)
class Verified:
    id: UUID
    verified_at: datetime


class _Judged(NamedTuple):
    """The row of `sql.CHECK_CODE`."""

    judged_id: UUID
    right_at: datetime | None
    attempts_left: int


def check_code(*, principal: Principal, phone: str, purpose: str, code: str) -> Verified:
    """Spends one attempt and consumes a right code; raises the refusal as a DomainError."""
    test_numbers.refuse_scripted_guess(principal, phone)
    params: dict[str, Any] = {
        "company_id": principal.company_id,
        "mode": principal.mode,
        "phone": phone,
        "purpose": purpose,
        "macs": array_text(
            codes.candidate_macs(
                company_id=principal.company_id,
                mode=principal.mode,
                phone=phone,
                purpose=purpose,
                code=code,
            )
        ),
        **guess_cap.cap_params(),
    }
    judged = next(iter(fetch_rows(sql.recent(sql.CHECK_CODE), params, _Judged)), None)
    if judged is None:
        states = fetch_rows(sql.recent(sql.REFUSAL_STATE), params, guess_cap.RefusalState)
        raise guess_cap.check_refusal(principal, phone, next(iter(states), None))
    if judged.right_at is None:
        raise DomainError(Error.CODE_INVALID, attempts_left=judged.attempts_left)
    after_commit(wakeups.wake_workers)
    return Verified(judged.judged_id, judged.right_at)
