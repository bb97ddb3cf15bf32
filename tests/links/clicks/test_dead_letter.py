"""Clicks that PostgreSQL refuses are set aside and tried again; others are counted."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from uuid import uuid4

import orjson
import pytest
from django.db import OperationalError, connection, transaction
from structlog.testing import capture_logs

from links.clicks import counting, stream
from links.clicks.buffer import STREAM
from links.clicks.stream import Batch
from links.models import Link
from storage.redis_client import blocking_redis_client
from tests.factories import LinkFactory

pytestmark = pytest.mark.django_db(transaction=True)

CONSUMER = replace(counting.CONSUMER, max_clicks=50, retry_pause=0.0, max_tries=3)
BATCH = 20  # clicks of an entry


@pytest.fixture(autouse=True)
def _stream() -> Iterator[None]:
    blocking_redis_client().delete(STREAM)
    CONSUMER.consume(counting.count)  # makes the group
    yield
    blocking_redis_client().delete(STREAM)


@pytest.fixture
def link() -> Link:
    return LinkFactory.create()


def add(link: Link, clicks: int = BATCH) -> bytes:
    """Adds an entry to the stream; returns its id."""
    now = int(time.time() * 1000)
    fields: dict[Any, Any] = {
        "id": uuid4().hex,
        "batch": orjson.dumps([[link.id.hex, "person", now + n] for n in range(clicks)]),
    }
    entry_id: Any = blocking_redis_client().xadd(STREAM, fields)
    return bytes(entry_id)


def counted(link: Link) -> int:
    link.refresh_from_db()
    return link.clicks


def clicks_of(batches: list[Batch]) -> int:
    return sum(len(batch.clicks) for batch in batches)


def count_unless(is_too_much: Callable[[list[Batch]], bool]) -> stream.Handler:
    """Counts, but for what takes PostgreSQL longer than a statement may."""

    def count(batches: list[Batch]) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            counting.count(batches)
            if is_too_much(batches):
                cursor.execute("SET LOCAL statement_timeout = 10")
                cursor.execute("SELECT pg_sleep(60)")

    return count


def holds(poison: Link) -> Callable[[list[Batch]], bool]:
    return lambda batches: any(
        click.link_id == poison.pk for batch in batches for click in batch.clicks
    )


def pending() -> int:
    groups: Any = blocking_redis_client().xinfo_groups(STREAM)
    return int(groups[0]["pending"])


def test_transactions_are_bounded_by_clicks(link: Link) -> None:
    for clicks in (BATCH, BATCH, BATCH, 3 * BATCH, 1, 1):
        add(link, clicks)
    sizes: list[int] = []

    assert CONSUMER.consume(lambda batches: sizes.append(clicks_of(batches))) == 6

    assert sizes == [2 * BATCH, BATCH, 3 * BATCH, 2]  # an entry of more is taken by itself
    assert pending() == 0


def test_rejected_chunk_is_retried_by_halves(link: Link) -> None:
    for _ in range(9):
        add(link, 1)

    read = CONSUMER.consume(count_unless(lambda batches: len(batches) > 2))

    assert (read, counted(link), pending()) == (9, 9, 0)


def test_rejected_entry_does_not_block_others(link: Link) -> None:
    poison = LinkFactory.create()
    add(link)
    entry = add(poison, 3)
    add(link)
    reader = replace(CONSUMER, retry_pause=3600.0)
    handle = count_unless(holds(poison))

    with capture_logs() as lines:
        reads = [reader.consume(handle) for _ in range(2)]
    add(link)
    reads.append(reader.consume(handle))

    assert reads == [0, 1, 1]
    assert (counted(link), counted(poison), pending()) == (3 * BATCH, 0, 1)
    assert [line for line in lines if line["log_level"] == "error"] == [
        {
            "event": "clicks_dead_lettered",
            "log_level": "error",
            "group": "counts",
            "entry": entry.decode(),
            "clicks": 3,
        }
    ]


def test_dead_lettered_entry_is_counted_on_retry(link: Link) -> None:
    add(link)
    replace(CONSUMER, retry_pause=3600.0).consume(count_unless(holds(link)))
    before = counted(link)

    CONSUMER.consume(counting.count)
    CONSUMER.consume(counting.count)

    assert (before, counted(link), pending()) == (0, BATCH, 0)


def test_entry_is_dropped_with_an_error_after_its_last_try(link: Link) -> None:
    entry = add(link)
    handle = count_unless(holds(link))

    with capture_logs() as lines:
        left = [CONSUMER.consume(handle) or pending() for _ in range(CONSUMER.max_tries)]

    errors = [line["event"] for line in lines if line["log_level"] == "error"]
    assert errors == ["clicks_dead_lettered", "clicks_dropped_after_retries"]
    assert (lines[-1]["entry"], lines[-1]["clicks"]) == (entry.decode(), BATCH)
    assert left == [1, 0, 0]
    assert counted(link) == 0


def test_dead_lettered_entry_waits_for_its_retry_pause(link: Link) -> None:
    add(link)
    reader = replace(CONSUMER, retry_pause=3600.0, max_tries=1)

    for _ in range(3):
        reader.consume(count_unless(holds(link)))

    assert pending() == 1


def test_rejection_of_everything_ends_the_round_early(link: Link) -> None:
    for _ in range(8):
        add(link, 1)
    reader = replace(CONSUMER, retry_pause=3600.0)
    tries: list[int] = []

    def refuse(batches: list[Batch]) -> None:
        tries.append(len(batches))
        count_unless(lambda _: True)(batches)

    reader.consume(refuse)
    reader.consume(counting.count)

    assert tries == [8, 4, 2, 1]
    assert (counted(link), pending()) == (7, 1)


def test_lock_timeout_dead_letters_nothing(link: Link) -> None:
    """No entry is at fault, so none is set aside, and all keep their place."""
    add(link)

    def wait(batches: list[Batch]) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("DO $$BEGIN RAISE EXCEPTION USING ERRCODE = 'lock_not_available'; END$$")

    with pytest.raises(OperationalError):
        CONSUMER.consume(wait)

    assert CONSUMER.consume(counting.count) == 1
    assert counted(link) == BATCH


def test_trimmed_dead_letter_is_acknowledged(link: Link) -> None:
    entry = add(link)
    replace(CONSUMER, retry_pause=3600.0).consume(count_unless(holds(link)))
    blocking_redis_client().xdel(STREAM, entry)

    CONSUMER.consume(counting.count)

    assert (counted(link), pending()) == (0, 0)
