"""The event outbox: what happened, for those of the company's endpoints that want to know.

Appended in the transaction that made it happen, by one statement that writes nothing where nobody
subscribed; the webhook dispatcher delivers at least once, under an id that never changes.
"""

import threading
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson
from django.db import connection, transaction
from django.utils import timezone

from accounts.models import Mode
from config.ids import uuid7

# Set after this process commits deliveries; its webhook dispatcher, if any, waits on it.
new_deliveries = threading.Event()


def iso_sql(column: str) -> str:
    """SQL for a time as the API writes it."""
    return f"""to_char({column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"""


def has_endpoint_sql(row: str) -> str:
    """SQL for whether anybody listens to the company and mode of a row: most companies have no
    endpoint, and then nothing need be told.
    """
    return f"""EXISTS (
         SELECT 1 FROM accounts_endpoint e WHERE e.company_id = {row}.company_id
           AND e.mode = {row}.mode AND e.disabled_at IS NULL AND e.deleted_at IS NULL)"""  # noqa: S608


def append_sql(happened: str) -> str:
    """CTEs and the statement behind them that append what `happened` selects: rows of (id,
    company_id, mode, kind, key, data, at). How many deliveries that made is its row count.
    """
    return f"""
happened AS ({happened}),
wanted AS (
  SELECT h.id, h.company_id, h.mode, h.kind, h.key, h.data, h.at, e.id AS endpoint_id
  FROM happened h JOIN accounts_endpoint e
    ON e.company_id = h.company_id AND e.mode = h.mode AND h.kind = ANY(e.kinds)
    AND e.disabled_at IS NULL AND e.deleted_at IS NULL),
event AS (
  INSERT INTO accounts_event (id, company_id, mode, kind, key, data, at)
  SELECT DISTINCT ON (id) id, company_id, mode, kind, key, data, at FROM wanted
  ON CONFLICT (company_id, mode, kind, key) DO NOTHING RETURNING id)
INSERT INTO accounts_delivery (id, event_id, endpoint_id)
SELECT gen_random_uuid(), event.id, wanted.endpoint_id FROM event JOIN wanted USING (id)"""  # noqa: S608


_EVENT_ROW = """
  SELECT %(id)s::uuid AS id, %(company_id)s::bigint AS company_id, %(mode)s::text AS mode,
         %(kind)s::text AS kind, %(key)s::text AS key, %(data)s::jsonb AS data,
         %(at)s::timestamptz AS at"""
_APPEND_ONE = f"WITH {append_sql(_EVENT_ROW)}"


def emit(
    *,
    company_id: int,
    mode: str,
    kind: str,
    data: Mapping[str, Any],
    key: str,
    at: datetime | None = None,
) -> None:
    """Append an event in the caller's transaction; at most one for each kind and `key`.

    Decimals are written as strings and times as ISO 8601 in UTC, as everywhere in the API.
    """
    whole = {**data, "test": mode == Mode.TEST}
    params: dict[str, Any] = {
        "id": uuid7(),
        "company_id": company_id,
        "mode": mode,
        "kind": kind,
        "key": key,
        "data": orjson.dumps(whole, default=str, option=orjson.OPT_UTC_Z).decode(),
        "at": at or timezone.now(),
    }
    with connection.cursor() as cursor:
        cursor.execute(_APPEND_ONE, params)
        wake_dispatcher(cursor.rowcount)


def wake_dispatcher(deliveries: int) -> None:
    """Wake the webhook dispatcher of this process after the commit."""
    if deliveries > 0:
        transaction.on_commit(new_deliveries.set)
