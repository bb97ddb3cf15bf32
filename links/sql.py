"""Statements that make links, separately or as part of a send."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from api import idempotency
from billing.wallet import holds
from links.models import INSERTED_COLUMNS
from storage.statements import sql_files


def params(row: Mapping[str, Any], lifetime: int | None) -> dict[str, Any]:
    """Parameters of the statements that make one link; `lifetime` in seconds or None."""
    link = {f"link_{name}": row[name] for name in INSERTED_COLUMNS}
    return link | {"company_id": row["company_id"], "mode": row["mode"], "link_lifetime": lifetime}


def params_of_many(
    rows: Sequence[Mapping[str, Any]], lifetimes: Sequence[int | None]
) -> dict[str, Any]:
    """Parameters of the statements that make several links of one owner."""
    arrays: dict[str, Any] = {
        f"link_{name}": [row[name] for row in rows] for name in INSERTED_COLUMNS
    }
    owner = {"company_id": rows[0]["company_id"], "mode": rows[0]["mode"]}
    return arrays | owner | {"link_lifetime": lifetimes}


_SQL = sql_files.read_several(
    "links/make/insert.sql",
    columns=", ".join(INSERTED_COLUMNS),
    values=", ".join(f"%(link_{name})s::{kind}" for name, kind in INSERTED_COLUMNS.items()),
    array_columns=", ".join(f"given.{name}" for name in INSERTED_COLUMNS),
    arrays=", ".join(f"%(link_{name})s::{kind}[]" for name, kind in INSERTED_COLUMNS.items()),
)
INSERT = _SQL["insert"]
INSERT_WITH_CODE = _SQL["insert_with_code"]
INSERT_FROM_ARRAYS = _SQL["insert_from_arrays"]
INSERT_MANY = _SQL["insert_many"]
SHORTEN = _SQL["shorten"]
GENERATED = _SQL["generated"]

_SEND = sql_files.read("links/make/send.sql")


@cache
def send(*, is_test: bool, has_key: bool) -> str:
    inserts = {} if is_test else {"hold": holds.OPEN_HOLD}
    if has_key:
        inserts["idempotency_key"] = idempotency.INSERT
    return sql_files.fill(
        _SEND,
        paid=holds.FREE if is_test else holds.HOLD_WALLET,
        link=INSERT,
        inserts=sql_files.more_ctes(inserts),
    )
