"""The stream of clicks is trimmed when every reader has read it, or when it is full."""

import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone
from pytest_django import Settings

from links.clicks import clickhouse_tables, stream
from links.clicks.buffer import STREAM
from storage.redis_client import blocking_redis_client

BACKLOG = 3600
ENTRIES = 300  # Redis trims whole blocks of a hundred


@pytest.fixture(autouse=True)
def _stream(settings: Settings) -> Iterator[None]:
    settings.CLICKHOUSE_URL = "http://127.0.0.1:1/"
    settings.CLICKHOUSE_BACKLOG = BACKLOG
    yield
    for key in (STREAM, *clickhouse_tables.KEYS):
        blocking_redis_client().delete(key)


def add(age: float, number: int = ENTRIES) -> None:
    start = int((time.time() - age) * 1000)
    for n in range(number):
        fields: dict[Any, Any] = {"id": uuid4().hex, "batch": b"[]"}
        blocking_redis_client().xadd(STREAM, fields, id=f"{start + n}-0")


def make_groups() -> None:
    for group in ("counts", stream.SINK):
        blocking_redis_client().xgroup_create(STREAM, group, id="0", mkstream=True)


def read_all(group: str) -> None:
    result: Any = blocking_redis_client().xreadgroup(group, "one", {STREAM: ">"}, count=10_000)
    ids = [entry_id for entry_id, _ in result[0][1]]
    blocking_redis_client().xack(STREAM, group, *ids)


def length() -> int:
    return int(blocking_redis_client().xlen(STREAM))


def test_entries_wait_for_clickhouse() -> None:
    make_groups()
    add(BACKLOG / 2)
    read_all("counts")

    stream.trim()

    assert length() == ENTRIES
    assert clickhouse_tables.complete_since() is None
    assert stream.lag_seconds() == 0
    assert (stream.sink_lag_seconds() or 0) >= BACKLOG / 2 - 1


def test_entries_wait_for_the_backlog_at_most() -> None:
    make_groups()
    add(2 * BACKLOG)
    add(BACKLOG / 2)
    read_all("counts")

    stream.trim()

    assert ENTRIES <= length() < 2 * ENTRIES
    since = clickhouse_tables.complete_since()
    assert since is not None
    assert abs(timezone.now() - timedelta(seconds=BACKLOG) - since) < timedelta(seconds=10)


def test_stream_is_trimmed_only_after_postgresql_read_it() -> None:
    make_groups()
    add(2 * BACKLOG)

    stream.trim()

    assert length() == ENTRIES


def test_entries_that_both_have_read_are_trimmed() -> None:
    make_groups()
    add(2 * stream.TRIM_AFTER)
    add(0, 1)
    read_all("counts")
    read_all(stream.SINK)

    stream.trim()

    assert length() < ENTRIES
    assert clickhouse_tables.complete_since() is None


def test_group_is_deleted_when_clickhouse_is_turned_off(settings: Settings) -> None:
    make_groups()
    settings.CLICKHOUSE_URL = ""

    stream.trim()

    groups: Any = blocking_redis_client().xinfo_groups(STREAM)
    assert [group["name"] for group in groups] == [b"counts"]


def test_full_stream_is_reported_as_a_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "STREAM_LENGTH", ENTRIES)
    make_groups()
    add(BACKLOG / 2)
    read_all("counts")

    stream.trim()

    since = clickhouse_tables.complete_since()
    assert since is not None
    assert abs(timezone.now() - timedelta(seconds=BACKLOG / 2) - since) < timedelta(seconds=10)
