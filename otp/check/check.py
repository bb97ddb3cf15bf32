"""Checks one-time codes that people typed in, and caps the wrong guesses at a phone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import Any, NamedTuple
from uuid import UUID

import orjson
from django.conf import settings
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.keys.principal import Principal
from catalogue.errors import DomainError, Error
from catalogue.ids import uuid7
from catalogue.texts import StrOrPromise
from channels.accept import send_limits
from channels.routing import scripted_numbers
from channels.waiting import wakeups
from otp import codes, sql
from storage import atomic_limits as counters
from storage.statements import sql_files
from storage.statements.group_commit import GroupCommit
from storage.statements.json_rows import array_text, by_number, bytea, dump_rows
from storage.statements.queries import fetch_value
from storage.statements.single_statement import after_commit, fetch_rows

_REFUSAL_SQL_BY_PHONE, _REFUSAL_SQL_BY_ID = (
    sql_files.read_several("otp/check/refusals.sql", which=which)
    for which in ("superseded_at IS NULL", "id = %(verification_id)s::uuid")
)
MINUTES_FROM = 120  # waits of this many seconds or more are shown in minutes


def cap_params() -> dict[str, int]:
    """SQL parameters of the cap on wrong codes at one phone, across codes and purposes."""
    (hourly, _hour), (daily, _day) = settings.WRONG_CODE_LIMITS
    return {"failed_hour": hourly, "failed_day": daily}


class RefusalState(NamedTuple):
    """A row of `refusal_state`: the newest code of the phone, or the code with the given id."""

    is_used: bool = False
    is_expired: bool = False
    is_exhausted: bool = False
    is_cancelled: bool = False
    is_superseded: bool = False
    is_bound_otherwise: bool = False

    @property
    def is_ended(self) -> bool:
        return self.is_used or self.is_expired or self.is_cancelled or self.is_superseded


CANCELLED = _("This code was canceled; send a new one")
SUPERSEDED = _("A newer code replaced this one")
NO_SUCH_CODE = _("There is no code with this id")


def counted_refusal(principal: Principal, phone: str, state: RefusalState | None) -> DomainError:
    """The refusal of a check that compared no code.

    It is counted, so that nobody can use it to find phones with codes.
    """
    if state and state.is_exhausted and not state.is_ended:
        return _attempts_exhausted(principal, phone)
    limit, seconds = settings.REFUSED_VERIFY_LIMIT
    phone_key = counters.hashed(phone)
    window = counters.Window(
        f"refused:{principal.company_id}:{principal.mode}:{phone_key}", limit, seconds
    )
    # No code was compared, so a refusal that Redis does not count leaks nothing.
    if wait := counters.count_or_wait(window):
        return DomainError(Error.TOO_MANY_ATTEMPTS, retry_after=wait)
    return DomainError(Error.CODE_NOT_FOUND) if state is None else _refusal_of(state)


def _refusal_of(state: RefusalState) -> DomainError:
    if state.is_used:
        return DomainError(Error.CODE_USED)
    if state.is_cancelled:
        return DomainError(Error.CODE_EXPIRED, message=CANCELLED)
    if state.is_superseded:
        return DomainError(Error.CODE_EXPIRED, message=SUPERSEDED)
    if state.is_expired:
        return DomainError(Error.CODE_EXPIRED)
    # A live code: of another binding, or created after the lookup.
    return DomainError(Error.BINDING_MISMATCH if state.is_bound_otherwise else Error.CODE_NOT_FOUND)


def refusal_by_guess_cap(principal: Principal, phone: str) -> DomainError:
    """The refusal of a send while the cap would reject even a correct new code."""
    wait = max(1, _seconds_until_cap_allows(principal, phone))
    text = format_lazy(_("Too many wrong codes. Ask for a new one in {wait}"), wait=_duration(wait))
    return DomainError(Error.TOO_MANY_ATTEMPTS, message=text, retry_after=wait)


def _attempts_exhausted(principal: Principal, phone: str) -> DomainError:
    """The refusal of a guess at a code without attempts; `retry_after` is for a new code."""
    wait = max(
        _seconds_until_cap_allows(principal, phone), seconds_until_send_allowed(principal, phone)
    )
    return DomainError(
        Error.TOO_MANY_ATTEMPTS, message=_attempts_exhausted_message(wait), retry_after=max(1, wait)
    )


def seconds_until_send_allowed(principal: Principal, phone: str) -> int:
    """Seconds until the send limits allow a code to the phone."""
    return send_limits.seconds_until_allowed(
        send_limits.Send(
            uuid7(), principal.company_id, principal.mode, "code", phone, principal.own_limits
        )
    )


def _attempts_exhausted_message(wait: int) -> StrOrPromise:
    if wait == 0:
        return _("No attempts are left: this code no longer works. Ask for a new one")
    return format_lazy(
        _("No attempts are left: this code no longer works. Ask for a new one in {wait}"),
        wait=_duration(wait),
    )


def _duration(seconds: int) -> StrOrPromise:
    if seconds < MINUTES_FROM:
        return format_lazy(_("{seconds} s"), seconds=seconds)
    return format_lazy(_("{minutes} min"), minutes=ceil(seconds / 60))


def _seconds_until_cap_allows(principal: Principal, phone: str) -> int:
    """Seconds until the cap lets a new code be sent and checked."""
    params = codes.code_identity(principal, phone, "") | cap_params()
    statement = sql.in_live_months(_REFUSAL_SQL_BY_PHONE["seconds_until_allowed"])
    seconds = fetch_value(statement, params)
    return max(0, ceil(round(float(seconds), 3)))


@dataclass(frozen=True, slots=True)
class VerifiedCode:
    id: UUID
    verified_at: datetime
    phone: str
    purpose: str


class _CheckedGuess(NamedTuple):
    """A row of `otp/check/check.sql`."""

    number: int  # position of the guess in its group
    verification_id: UUID
    verified_at: datetime | None
    attempts_left: int


def check_code(
    *,
    principal: Principal,
    code: str,
    phone: str = "",
    purpose: str = "",
    verification_id: UUID | None = None,
    binding: Mapping[str, Any] | None = None,
) -> VerifiedCode:
    """Spends one attempt and consumes a correct code; raises the refusal as a DomainError.

    With `verification_id` only that verification is checked. Without `phone`, the phone and the
    purpose are read from the verification.
    """
    if verification_id is not None and not phone:
        phone, purpose = find_phone(principal, verification_id)
    scripted_numbers.refuse_scripted_guess(principal, phone)
    of_phone = codes.code_identity(principal, phone, purpose)
    macs = codes.candidate_macs(**of_phone, code=code)
    lookup = of_phone | {"verification_id": verification_id, "binding": binding}
    checked = _guesses.run(_Guess(lookup, macs))
    if checked is None:
        raise counted_refusal(principal, phone, _read_refusal_state(lookup))
    if checked.verified_at is None:
        raise DomainError(Error.CODE_INVALID, attempts_left=checked.attempts_left)
    after_commit(wakeups.wake_workers)
    return VerifiedCode(checked.verification_id, checked.verified_at, phone, purpose)


def find_phone(principal: Principal, verification_id: UUID) -> tuple[str, str]:
    """The phone and the purpose of a verification.

    Raises code_not_found for another company's verification, and for another purpose if the key has
    one.
    """
    params = {
        "verification_id": verification_id,
        "company_id": principal.company_id,
        "mode": principal.mode,
    }
    for row in fetch_rows(_REFUSAL_SQL_BY_PHONE["phone_of_id"], params, _PhoneOfId):
        if principal.purpose in ("", row.purpose):
            return row.phone, row.purpose
    raise DomainError(Error.CODE_NOT_FOUND, message=NO_SUCH_CODE)


class _PhoneOfId(NamedTuple):
    phone: str
    purpose: str


def _read_refusal_state(lookup: Mapping[str, Any]) -> RefusalState | None:
    statement = (_REFUSAL_SQL_BY_ID if lookup["verification_id"] else _REFUSAL_SQL_BY_PHONE)[
        "refusal_state"
    ]
    params = {**lookup, "binding": _json(lookup["binding"]), **cap_params()}
    return next(iter(fetch_rows(sql.in_live_months(statement), params, RefusalState)), None)


def _json(binding: Mapping[str, Any] | None) -> str | None:
    return None if binding is None else orjson.dumps(binding).decode()


class _Guess(NamedTuple):
    # The company, mode, phone and purpose, the id if one was given, and the binding.
    lookup: dict[str, Any]
    macs: Sequence[bytes]  # MACs of the guess under the known keys


def _check_one(guess: _Guess) -> _CheckedGuess | None:
    """Checks one guess; None if there was no code to compare it with."""
    params = guess.lookup | cap_params() | {"number": 0, "macs": array_text(guess.macs)}
    params["binding"] = _json(params["binding"])
    return next(iter(fetch_rows(sql.in_live_months(sql.CHECK_CODE), params, _CheckedGuess)), None)


def _check_together(guesses: Sequence[_Guess]) -> list[_CheckedGuess | None]:
    rows = [
        guess.lookup | {"number": number, "macs": [bytea(mac) for mac in guess.macs]}
        for number, guess in enumerate(guesses)
    ]
    params = {"guesses": dump_rows(rows), **cap_params()}
    return by_number(
        fetch_rows(sql.in_live_months(sql.CHECK_CODES), params, _CheckedGuess), len(rows)
    )


_guesses = GroupCommit(_check_one, _check_together)
