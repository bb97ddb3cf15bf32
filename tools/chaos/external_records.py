"""Loads the phones' and the backend's records into tables beside the service's own.

`phone_message` is the simulator's log, `client_order`, `client_call` and `client_entry` are the
backend's journal. The tables are temporary; with them each invariant is one query.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

from django.db import connection
from django.db.backends.utils import CursorWrapper

from config.ids import parse_id
from otp import codes
from tools.queries import queries

TABLES = ("phone_message", "client_order", "client_call", "client_entry")
_SQL = {query.name: query.text for query in queries(__file__).values()}


def load_records(simulator_log: Path, journal: Path) -> None:
    """Fill the tables on Django's connection; temporary tables exist on that connection only."""
    phones = [_phone_message(*row) for row in rows(simulator_log, _SQL["phones"])]
    calls = [
        (*row[:3], parse_id("msg", row[3]), row[4], bool(row[5]), *row[6:])
        for row in rows(journal, _SQL["calls"])
    ]
    entries = [
        (*row[:5], bool(row[5]), *row[6:8], parse_id("otp", row[8]), *row[9:])
        for row in rows(journal, _SQL["entries"])
    ]
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")  # the service's own is not meant for this
        create_tables(cursor)
        for table, found in zip(
            TABLES, (phones, rows(journal, _SQL["orders"]), calls, entries), strict=True
        ):
            fill(cursor, table, found)
        match(cursor)


def create_tables(cursor: CursorWrapper) -> None:
    for statement in filter(str.strip, (_SQL["schema"] + _SQL["indexes"]).split(";")):
        cursor.execute(statement)


def fill(cursor: CursorWrapper, table: str, found: Iterable[Sequence[object]]) -> None:
    with cursor.copy(f"COPY {table} FROM STDIN") as copy:
        for row in found:
            copy.write_row(row)


def match(cursor: CursorWrapper) -> None:
    _analyze(cursor)  # what looks small is joined row by row
    for way in ("by reference", "by name", "by centre id", "by link", "unnamed"):
        cursor.execute(_SQL[way])
    fill(cursor, "unnamed_code", _with_codes(cursor.fetchall()))
    cursor.execute(_SQL["by code"])
    _analyze(cursor)


def _analyze(cursor: CursorWrapper) -> None:
    for table in TABLES:
        cursor.execute(f"ANALYZE {table}")


def _with_codes(attempts: list[tuple[Any, ...]]) -> list[tuple[object, ...]]:
    """Adds to each attempt its code and its number among attempts with that code and phone."""
    found: list[tuple[object, ...]] = []
    seen = Counter[tuple[str, str]]()
    for attempt_id, message_id, phone, verification_id, key_id, length in attempts:
        code = codes.derive(verification_id, key_id=key_id, length=length)
        seen[phone, code] += 1
        found.append((attempt_id, message_id, phone, code, seen[phone, code]))
    return found


def rows(file: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as store:
        return store.execute(query).fetchall()


def _phone_message(number: int, *row: Any) -> tuple[object, ...]:
    provider, provider_id, ref, phone, links, code, state, extra, pending = row
    more = json.loads(extra)
    own = ref or parse_qs(urlsplit(more.get("callback") or "").query).get("ref", [None])[0]
    named = (number, provider, provider_id, UUID(own) if own else None, f"+{phone}")
    seen = (json.loads(links), code, state, more.get("faults", []), pending == "")
    return (*named, *seen, None, None)
