"""Writes sends of codes by `otp/send/send.sql`: a single send, or a group of concurrent sends."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from channels.accept import acceptance
from otp import sql
from storage.statements.group_commit import GroupCommit
from storage.statements.json_rows import by_number, bytea, dump_rows
from storage.statements.single_statement import fetch_rows


class CodeRow(NamedTuple):
    """A row of `otp/send/send.sql`. The fields after `is_capped` have a meaning only if the send
    was paid.
    """

    number: int  # position of the send in its group
    is_paid: bool
    is_blocked: bool
    is_capped: bool
    expires_in: float
    attempts_left: int
    verification_id: UUID  # id of the live code that a resend repeats
    short_url: str | None = None  # of its link; set by the send


@dataclass(frozen=True, slots=True)
class CodeWrite:
    """A send to write, with the columns of `requested`; `statement` is used if it runs alone."""

    statement: str
    params: Mapping[str, Any]


def alone(write: CodeWrite) -> CodeRow:
    return acceptance.first_row(
        sql.in_live_months(write.statement), {**write.params, "number": 0}, CodeRow
    )


# The same statement for all live sends.
_SHARED = {
    "key_ids",
    "resend_margin",
    "least_use",
    "max_attempts",
    "failed_hour",
    "failed_day",
    "time_zone",
}


def _together(writes: Sequence[CodeWrite]) -> list[CodeRow | None]:
    first = writes[0].params
    companies = {write.params["company_id"] for write in writes}
    of_one = len(companies) == 1
    statement = sql.SEND_OF_ONE_COMPANY if of_one else sql.SEND_OF_SEVERAL_COMPANIES
    code_rows = [_requested_row(number, write.params) for number, write in enumerate(writes)]
    params = {name: first[name] for name in _SHARED} | {
        "requested": dump_rows(_first_of_each(code_rows))
    }
    rows = fetch_rows(sql.in_live_months(statement), params, CodeRow)
    return by_number((row for row in rows if row.is_paid), len(writes))


def _first_of_each(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The writes that are the first for their code and for their Idempotency-Key."""
    codes: set[Any] = set()
    keys: set[Any] = set()
    firsts = []
    for row in rows:
        code = (row["company_id"], row["phone"], row["purpose"])
        key = (row["company_id"], row["idem_key"] or row["number"])
        if code not in codes and key not in keys:
            firsts.append(row)
        codes.add(code)
        keys.add(key)
    return firsts


def _requested_row(number: int, params: Mapping[str, Any]) -> dict[str, Any]:
    row = {name: value for name, value in params.items() if name not in _SHARED}
    values = {name: bytea(params[name]) for name in ("mac", "idem_hash") if params[name]}
    return row | values | {"number": number}


SENDS = GroupCommit(alone, _together)
