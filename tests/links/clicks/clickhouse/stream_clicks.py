"""Clicks in the stream, and what came of them."""

import time
from uuid import UUID, uuid4

import orjson

from links.clicks import clickhouse_sink, clickhouse_tables
from links.clicks.bot_detection import VisitorKind
from links.clicks.buffer import STREAM
from storage.redis_client import blocking_redis_client


def add_entry(
    link_id: UUID, number: int = 1, *, batch: str = "", kind: str = VisitorKind.PERSON
) -> str:
    """One batch of `number` clicks, a millisecond apart; returns its id."""
    batch = batch or uuid4().hex
    millis = int(time.time() * 1000)
    rows = [[link_id.hex, kind, millis + n, "news.example", "ios", "KZ"] for n in range(number)]
    blocking_redis_client().xadd(STREAM, {"id": batch, "batch": orjson.dumps(rows)})
    return batch


def add_rows(*rows: list[object]) -> None:
    fields = {"id": uuid4().hex, "batch": orjson.dumps(rows)}
    blocking_redis_client().xadd(STREAM, fields)  # type: ignore[arg-type]


def forget_lock() -> None:
    """Drops the lock, as if it had expired."""
    blocking_redis_client().delete(clickhouse_sink.LOCK)


def be_complete() -> None:
    """Ages the group by days."""
    clickhouse_sink.write_clicks()
    blocking_redis_client().set(clickhouse_tables.KEYS[0], time.time() - 5 * 86_400)
