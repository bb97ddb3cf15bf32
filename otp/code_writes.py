"""Writes accepted codes: a send alone, or sends that come together in one statement."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.conf import settings

from channels.accept import acceptance
from config.storage.statements.group_commit import GroupCommit
from config.storage.statements.json_rows import by_number, bytea, dump_rows
from config.storage.statements.single_statement import fetch_rows
from otp import sql


class CodeRow(NamedTuple):
    """The row of `sql.send`, where NULL stands for what a refused send has not; or one of
    `sql.send_together`, which has rows of paid sends alone.
    """

    expires_in: float
    attempts_left: int
    is_paid: bool = True
    is_blocked: bool = False
    is_capped: bool = False
    n: int = 0


@dataclass(frozen=True, slots=True)
class CodeWrite:
    """A send to write; `can_join`: it may share a statement with others."""

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
    params = {
        **{name: first[name] for name in _SHARED},
        "time_zone": settings.TIME_ZONE,
        "asked": dump_rows([_row(n, one.params) for n, one in enumerate(writes)]),
    }
    rows = fetch_rows(sql.recent(statement), params, CodeRow)
    return by_number(rows, len(writes))


# The same for all sends of a process.
_SHARED = ("key_ids", "resend_margin", "lifetime", "max_attempts", "failed_hour", "failed_day")


def _row(n: int, params: Mapping[str, Any]) -> dict[str, Any]:
    row = {name: value for name, value in params.items() if name not in _SHARED}
    values = {name: bytea(params[name]) for name in ("mac", "idem_hash") if name in params}
    return row | values | {"n": n}


_sends = GroupCommit(_alone, _together)
