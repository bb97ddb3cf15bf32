"""The plans of statements as a connection keeps them: for any parameters, not for those at hand."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from django.db import connection
from psycopg import sql

Plan = dict[str, Any]  # a node as EXPLAIN (FORMAT JSON) shows it
_PLACEHOLDER = re.compile(r"%\((\w+)\)s|%s|%%")
_IS_READ = re.compile(r"\s*(SELECT|WITH)\b", re.IGNORECASE)

_INDEXES_OF_MONTHS = """
SELECT child.relname, parent.relname FROM pg_inherits
JOIN pg_class child ON child.oid = inhrelid AND child.relkind = 'i'
JOIN pg_class parent ON parent.oid = inhparent
"""


class Statement(NamedTuple):
    text: str
    params: Any


@contextmanager
def reads() -> Iterator[list[Statement]]:
    """Collects the SELECT statements that are executed in the block."""
    result: list[Statement] = []

    def collect(execute: Any, text: str, params: Any, count: bool, context: Any) -> Any:
        if _IS_READ.match(text):
            result.append(Statement(text, params))
        return execute(text, params, count, context)

    with connection.execute_wrapper(collect):
        yield result


def explain(statement: Statement) -> Plan:
    """Executes it by its generic plan; the nodes have the rows and blocks they really read."""
    root: Plan = analyzed(statement)["Plan"]
    return root


def analyzed(statement: Statement) -> dict[str, Any]:
    """All that EXPLAIN says of an execution by the generic plan; in a transaction."""
    text, values = _numbered(statement)
    arguments = sql.SQL(", ").join(map(sql.Literal, values))
    call = sql.SQL("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE explained {}").format(
        sql.SQL("({})").format(arguments) if values else sql.SQL("")
    )
    with connection.cursor() as cursor:
        session = cursor.connection
        session.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        session.execute(f"PREPARE explained AS {text}".encode(), prepare=False)
        ((plan,),) = session.execute(call.as_string(session).encode(), prepare=False).fetchone()
        session.execute("DEALLOCATE explained", prepare=False)
    whole: dict[str, Any] = plan
    return whole


def explained(statement: str, params: Any = None) -> str:
    """The lines of EXPLAIN, in which a month's index has the name of its table's."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {statement}", params)
        lines = "\n".join(line for (line,) in cursor.fetchall())
        cursor.execute(_INDEXES_OF_MONTHS)
        for month, table in cursor.fetchall():
            lines = re.sub(rf"\b{month}\b", table, lines)
    return lines


def nodes(plan: Plan) -> Iterator[Plan]:
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)


def rows_read(plan: Plan) -> int:
    """The rows that the scans below a node read, whether they fit or not."""
    scans = (node for node in nodes(plan) if "Relation Name" in node)
    return sum(
        round((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"])
        for node in scans
    )


def _numbered(statement: Statement) -> tuple[str, list[Any]]:
    """With $1, $2 … for the placeholders, and the value of each."""
    names: dict[str, int] = {}
    values: list[Any] = []

    def number(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        name = match[1] or f"positional {len(values)}"
        if name not in names:
            values.append(statement.params[match[1] or len(values)])
            names[name] = len(values)
        return f"${names[name]}"

    if not statement.params:
        return statement.text, []
    return _PLACEHOLDER.sub(number, statement.text), values
