"""Checks a one-time code that a person typed in."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from accounts.keys.api_keys import Principal
from channels import wakeups
from channels.routing import test_numbers
from config.errors import DomainError, Error
from config.storage.statements.array_text import array_text
from config.storage.statements.group_commit import GroupCommit
from config.storage.statements.json_rows import by_number, bytea, dump_rows
from config.storage.statements.single_statement import after_commit, fetch_rows
from otp import codes, guess_cap, sql


@dataclass(frozen=True, slots=True)
class Verified:
    id: UUID
    verified_at: datetime


class _Judged(NamedTuple):
    """The row of `sql.CHECK_CODE`, or one of `sql.CHECK_CODES`."""

    judged_id: UUID
    right_at: datetime | None
    attempts_left: int
    number: int = 0  # of the guess in its group


def check_code(*, principal: Principal, phone: str, purpose: str, code: str) -> Verified:
    """Spends one attempt and consumes a right code; raises the refusal as a DomainError."""
    test_numbers.refuse_scripted_guess(principal, phone)
    lookup: dict[str, Any] = {
        "company_id": principal.company_id,
        "mode": principal.mode,
        "phone": phone,
        "purpose": purpose,
    }
    macs = codes.candidate_macs(**lookup, code=code)
    judged = _guesses.run(_Guess(lookup, macs))
    if judged is None:
        params = lookup | guess_cap.cap_params()
        states = fetch_rows(sql.recent(sql.REFUSAL_STATE), params, guess_cap.RefusalState)
        raise guess_cap.check_refusal(principal, phone, next(iter(states), None))
    if judged.right_at is None:
        raise DomainError(Error.CODE_INVALID, attempts_left=judged.attempts_left)
    after_commit(wakeups.wake_workers)
    return Verified(judged.judged_id, judged.right_at)


class _Guess(NamedTuple):
    lookup: dict[str, Any]  # the company, mode, phone and purpose of the code
    macs: Sequence[bytes]  # that the guess has under the known keys


def _judge(guess: _Guess) -> _Judged | None:
    """None if no code could be checked."""
    params = guess.lookup | guess_cap.cap_params() | {"macs": array_text(guess.macs)}
    return next(iter(fetch_rows(sql.recent(sql.CHECK_CODE), params, _Judged)), None)


def _judge_together(guesses: Sequence[_Guess]) -> list[_Judged | None]:
    rows = [
        guess.lookup | {"number": number, "macs": [bytea(mac) for mac in guess.macs]}
        for number, guess in enumerate(guesses)
    ]
    params = {"guesses": dump_rows(rows), **guess_cap.cap_params()}
    return by_number(fetch_rows(sql.recent(sql.CHECK_CODES), params, _Judged), len(rows))


_guesses = GroupCommit(_judge, _judge_together)
