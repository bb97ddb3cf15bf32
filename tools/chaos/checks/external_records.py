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

SCHEMA = """
DROP TABLE IF EXISTS pg_temp.phone_message, pg_temp.client_order, pg_temp.client_call,
  pg_temp.client_entry, pg_temp.unnamed_code;
CREATE TEMP TABLE phone_message (
  id bigint, provider text, provider_id text, ref uuid, phone text, links text[], code text,
  state text,
  faults text[], is_told boolean, attempt_id uuid, message_id uuid,
  has_arrived boolean GENERATED ALWAYS AS (state IN ('delivered', 'read')) STORED,
  -- A person reads what the phone has, even while the vendor still repeats an earlier receipt.
  is_readable boolean GENERATED ALWAYS AS (state IN ('delivered', 'read')
    OR state = 'sent' AND NOT is_told AND 'undelivered' <> ALL(faults)) STORED);
CREATE TEMP TABLE unnamed_code (attempt_id uuid, message_id uuid, phone text, code text, n int);
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

# An hour's soak leaves a hundred thousand rows, which the checks compare with one another.
INDEXES = """
CREATE INDEX ON phone_message (phone); CREATE INDEX ON phone_message (message_id);
CREATE INDEX ON phone_message (attempt_id); CREATE INDEX ON client_order (company_id, phone);
CREATE INDEX ON client_call (key); CREATE INDEX ON client_call (message_id);
CREATE INDEX ON client_entry (person); CREATE INDEX ON client_entry (phone);
"""
TABLES = ("phone_message", "client_order", "client_call", "client_entry")

# Which attempt a vendor's message was: by our reference, which Twilio keeps in its callback's
# address. The bot and a message centre have none: then by the name that they gave the message, the
# bot's with the chat in it; by the link, which is in one message only; or, of attempts whose answer
# was lost, by the code.
MATCH_BY_REF = """
UPDATE phone_message p SET attempt_id = a.id, message_id = a.message_id
FROM channels_attempt a WHERE a.id = p.ref AND a.provider = p.provider
"""
MATCH_BY_NAME = """
UPDATE phone_message p SET attempt_id = a.id, message_id = a.message_id
FROM channels_attempt a
WHERE p.ref IS NULL AND p.provider = 'telegram_bot' AND a.provider = p.provider
  AND substring(a.provider_id FROM ':([^:]*:[^:]*)$') = ltrim(p.phone, '+') || ':' || p.provider_id
"""
# Ids of a message centre are stored without leading zeros.
MATCH_BY_CENTRE_ID = """
UPDATE phone_message p SET attempt_id = a.id, message_id = a.message_id
FROM channels_attempt a
WHERE p.provider = 'smpp' AND a.provider = 'smpp' AND a.provider_id = ltrim(p.provider_id, '0')
"""
MATCH_BY_LINK = """
UPDATE phone_message p SET message_id = m.id, attempt_id = (
  SELECT a.id FROM channels_attempt a WHERE a.message_id = m.id AND a.provider = p.provider
  ORDER BY a.state = 'delivered' DESC, a.n LIMIT 1)
FROM channels_message m
WHERE p.ref IS NULL AND p.attempt_id IS NULL AND m.phone = p.phone
  AND m.params ->> 'short_url' = ANY(p.links)
"""
UNNAMED = """
SELECT a.id, m.id, m.phone, m.subject_id, m.params ->> 'key', (m.params ->> 'length')::int
FROM channels_attempt a JOIN channels_message m ON m.id = a.message_id
WHERE a.provider IN ('telegram_bot', 'smpp') AND a.provider_id IS NULL AND m.content = 'code'
  AND m.params ? 'key'
ORDER BY a.started_at, a.id
"""
# A code that is sent again is the same: the first to come is of the first attempt.
MATCH_BY_CODE = """
UPDATE phone_message p SET attempt_id = u.attempt_id, message_id = u.message_id
FROM unnamed_code u, (
  SELECT id, row_number() OVER (PARTITION BY phone, code ORDER BY id) AS n FROM phone_message
  WHERE ref IS NULL AND attempt_id IS NULL AND provider IN ('telegram_bot', 'smpp')) came
WHERE came.id = p.id AND u.phone = p.phone AND u.code = p.code AND u.n = came.n
"""

_PHONES = """
SELECT id, provider, provider_id, ref, phone, links, code, state, extra, pending FROM messages
"""
_ORDERS = "SELECT key, company_id, path, phone FROM orders"
_CALLS = "SELECT key, status, code, message, body, replayed, seconds, at FROM calls"
_ENTRIES = """
SELECT person, key, try, company_id, phone, is_right, status, code, verification, seconds, at
FROM entries
"""


def load_records(simulator_log: Path, journal: Path) -> None:
    """Fill the tables on Django's connection; temporary tables exist on that connection only."""
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
        cursor.execute("SET statement_timeout = 0")  # the service's own is not meant for this
        create_tables(cursor)
        fill(cursor, "phone_message", phones)
        fill(cursor, "client_order", _rows(journal, _ORDERS))
        fill(cursor, "client_call", calls)
        fill(cursor, "client_entry", entries)
        match(cursor)


def create_tables(cursor: CursorWrapper) -> None:
    for statement in filter(str.strip, (SCHEMA + INDEXES).split(";")):
        cursor.execute(statement)


def fill(cursor: CursorWrapper, table: str, rows: Iterable[Sequence[object]]) -> None:
    with cursor.copy(f"COPY {table} FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


def match(cursor: CursorWrapper) -> None:
    _analyze(cursor)  # what looks small is joined row by row
    cursor.execute(MATCH_BY_REF)
    cursor.execute(MATCH_BY_NAME)
    cursor.execute(MATCH_BY_CENTRE_ID)
    cursor.execute(MATCH_BY_LINK)
    cursor.execute(UNNAMED)
    fill(cursor, "unnamed_code", _with_codes(cursor.fetchall()))
    cursor.execute(MATCH_BY_CODE)
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


def _rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as file:
        return file.execute(query).fetchall()


def _phone_message(row: tuple[Any, ...]) -> tuple[object, ...]:
    number, provider, provider_id, ref, phone, links, code, state, extra, pending = row
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
        code,
        state,
        more.get("faults", []),
        pending == "",
        None,
        None,
    )
