"""Writes accepted codes: a send alone, or sends that come together in one statement."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from channels.accept import acceptance
from config.storage.statements.group_commit import GroupCommit
from config.storage.statements.json_rows import by_number, bytea, dump_rows
from config.storage.statements.single_statement import fetch_rows
from otp import sql


class CodeRow(NamedTuple):
    """The row of `sql.send`, whose first two are NULL if the send was refused; or one of
    `sql.send_together`, which has rows of paid sends alone.
    """

    expires_in: float
    attempts_left: int
    is_paid: bool = True
    is_blocked: bool = False
    is_capped: bool = False
    number: int = 0  # of the send in its group


@dataclass(frozen=True, slots=True)
class CodeWrite:
    """A send to write, with parameters as of `sql.send`. `statement` is for when it runs alone;
    `can_join` says whether it may share one with others.
    """

    statement: str
    params: Mapping[str, Any]
    can_join: bool


def write(one: CodeWrite) -> CodeRow:
    """Raises what the statement raises; a row that is not paid wrote nothing."""
    return _sends.run(one) if one.can_join else _alone(one)


def _alone(one: CodeWrite) -> CodeRow:
    return acceptance.first_row(sql.recent(one.statement), one.params, CodeRow)


def _together(writes: Sequence[CodeWrite]) -> list[CodeRow | None]:
    first = writes[0].params
    companies = {one.params["company_id"] for one in writes}
    statement = sql.send_together(of_one_company=len(companies) == 1)
    rows = [_row(number, one.params) for number, one in enumerate(writes)]
    params = {name: first[name] for name in _SHARED} | {"asked": dump_rows(_first_of_each(rows))}
    return by_number(fetch_rows(sql.recent(statement), params, CodeRow), len(writes))


def _first_of_each(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without those for the code or the Idempotency-Key of one before them."""
    codes: set[Any] = set()
    keys: set[Any] = set()
    found = []
    for row in rows:
        code = (row["company_id"], row["phone"], row["purpose"])
        key = (row["company_id"], row.get("idem_key", row["number"]))
        if code not in codes and key not in keys:
            found.append(row)
        codes.add(code)
        keys.add(key)
    return found


# The same for all live sends.
_SHARED = (
    "key_ids",
    "resend_margin",
    "lifetime",
    "least_use",
    "max_attempts",
    "failed_hour",
    "failed_day",
    "time_zone",
)


def _row(number: int, params: Mapping[str, Any]) -> dict[str, Any]:
    row = {name: value for name, value in params.items() if name not in _SHARED}
    values = {name: bytea(params[name]) for name in ("mac", "idem_hash") if name in params}
    return row | values | {"number": number}


_sends = GroupCommit(_alone, _together)
