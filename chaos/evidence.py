"""What others know, laid beside the database: the phones' side and the backend's side as tables.

`phone_message` is the simulator's log, `client_order`, `client_call` and `client_entry` are the
backend's journal. They are temporary, so that every invariant can be one query.
"""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

from django.db import connection
from django.db.backends.utils import CursorWrapper

from config.ids import parse_id

SCHEMA = """
DROP TABLE IF EXISTS pg_temp.phone_message, pg_temp.client_order, pg_temp.client_call,
  pg_temp.client_entry;
CREATE TEMP TABLE phone_message (
  id bigint, provider text, provider_id text, ref uuid, phone text, links text[], state text,
  faults text[], is_told boolean, attempt_id uuid, message_id uuid,
  has_arrived boolean GENERATED ALWAYS AS (state IN ('delivered', 'read')) STORED);
CREATE TEMP TABLE client_order (key text, company_id bigint, path text, phone text);
CREATE TEMP TABLE client_call (
  key text, status int, code text, message_id uuid, body text, is_replayed boolean,
  seconds float, at float,
  -- told again to whoever repeats the call: refusals before the effect are not
  is_kept boolean GENERATED ALWAYS AS (status = 200 OR message_id IS NOT NULL) STORED);
CREATE TEMP TABLE client_entry (
  person text, key text, try text, company_id bigint, phone text, is_right boolean, status int,
  code text, verification_id uuid, seconds float, at float);
"""

# Which attempt a vendor's message was: by our reference, which Twilio keeps in its callback's
# address. The bot has none: a link is in one message only.
MATCH_BY_REF = """
UPDATE phone_message p SET attempt_id = a.id, message_id = a.message_id
FROM channels_attempt a WHERE a.id = p.ref AND a.provider = p.provider
"""
MATCH_BY_LINK = """
UPDATE phone_message p SET message_id = m.id, attempt_id = (
  SELECT a.id FROM channels_attempt a WHERE a.message_id = m.id AND a.provider = p.provider
  ORDER BY a.state = 'delivered' DESC, a.n LIMIT 1)
FROM channels_message m
WHERE p.ref IS NULL AND m.phone = p.phone AND m.params ->> 'short_url' = ANY(p.links)
"""

_PHONES = "SELECT id, provider, provider_id, ref, phone, links, state, extra, pending FROM messages"
_ORDERS = "SELECT key, company_id, path, phone FROM orders"
_CALLS = "SELECT key, status, code, message, body, replayed, seconds, at FROM calls"
_ENTRIES = """
SELECT person, key, try, company_id, phone, is_right, status, code, verification, seconds, at
FROM entries
"""


def lay_out(simulator_log: Path, journal: Path) -> None:
    """Fill the tables on Django's connection, which must be the one they are asked on."""
    phones = [_phone_message(row) for row in _rows(simulator_log, _PHONES)]
    calls = [
        (*row[:3], parse_id("msg", row[3]), row[4], bool(row[5]), *row[6:])
        for row in _rows(journal, _CALLS)
    ]
    entries = [
        (*row[:5], bool(row[5]), *row[6:8], parse_id("otp", row[8]), *row[9:])
        for row in _rows(journal, _ENTRIES)
    ]
    with connection.cursor() as cursor:
        create_tables(cursor)
        fill(cursor, "phone_message", phones)
        fill(cursor, "client_order", _rows(journal, _ORDERS))
        fill(cursor, "client_call", calls)
        fill(cursor, "client_entry", entries)
        match(cursor)


def create_tables(cursor: CursorWrapper) -> None:
    for statement in filter(str.strip, SCHEMA.split(";")):
        cursor.execute(statement)


def fill(cursor: CursorWrapper, table: str, rows: Iterable[Sequence[object]]) -> None:
    with cursor.copy(f"COPY {table} FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


def match(cursor: CursorWrapper) -> None:
    cursor.execute(MATCH_BY_REF)
    cursor.execute(MATCH_BY_LINK)
    for table in ("phone_message", "client_order", "client_call", "client_entry"):
        cursor.execute(f"ANALYZE {table}")


def _rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as file:
        return file.execute(query).fetchall()


def _phone_message(row: tuple[Any, ...]) -> tuple[object, ...]:
    number, provider, provider_id, ref, phone, links, state, extra, pending = row
    more = json.loads(extra)
    given = parse_qs(urlsplit(more.get("callback") or "").query).get("ref", [None])[0]
    own = ref or given
    return (
        number,
        provider,
        provider_id,
        UUID(own) if own else None,
        f"+{phone}",
        json.loads(links),
        state,
        more.get("faults", []),
        pending == "",
        None,
        None,
    )
