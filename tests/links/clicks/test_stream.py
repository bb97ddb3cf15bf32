"""The lag of the click stream's readers."""

import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import orjson
import pytest

from links.clicks import counting, delivery_proof, stream
from links.clicks.buffer import STREAM
from links.clicks.stream import Batch
from storage.redis_client import blocking_redis_client
from tests.factories import LinkFactory

pytestmark = pytest.mark.django_db
LATE = 90  # seconds
MANY = 300


@pytest.fixture(autouse=True)
def _stream() -> Iterator[None]:
    blocking_redis_client().delete(STREAM)
    yield
    blocking_redis_client().delete(STREAM)


def add(age: float, *, number: int = 0, link: str = "") -> None:
    moment = int((time.time() - age) * 1000) + number
    rows = [[link, "person", moment]] if link else []
    fields: dict[Any, Any] = {"id": uuid4().hex, "batch": orjson.dumps(rows)}
    blocking_redis_client().xadd(STREAM, fields, id=f"{moment}-{number}")


def age() -> int | None:
    found = stream.lag_seconds()
    return None if found is None else int(found) // 10 * 10


def test_lag_is_zero_without_clicks() -> None:
    assert stream.lag_seconds() == 0
    counting.count_clicks()  # makes the group
    assert stream.lag_seconds() == 0


def test_lag_counts_entries_before_any_consumer() -> None:
    add(LATE)
    add(0)

    assert age() == LATE


def test_lag_is_that_of_the_slowest_consumer() -> None:
    for read in (counting.count_clicks, delivery_proof.prove_clicks):
        read()
    add(LATE)
    add(0)
    counting.count_clicks()
    one_has_read = age()
    delivery_proof.prove_clicks()

    assert one_has_read == LATE
    assert stream.lag_seconds() == 0


def test_lag_counts_unacknowledged_entries() -> None:
    counting.count_clicks()
    add(LATE)
    counting.CONSUMER.read(">")  # and no acknowledgement
    add(0)
    assert age() == LATE

    while counting.CONSUMER.consume(lambda _batches: None):
        pass

    assert stream.lag_seconds() == 0


def test_entries_read_by_every_consumer_are_trimmed() -> None:
    link = LinkFactory.create()
    readers = (delivery_proof.prove_clicks, counting.count_clicks)
    for read in readers:
        read()
    for number in range(MANY):
        add(2 * stream.TRIM_AFTER, number=number, link=link.id.hex)

    while counting.count_clicks():
        pass
    kept = blocking_redis_client().xlen(STREAM)
    while delivery_proof.prove_clicks():
        pass
    add(0)
    counting.count_clicks()

    assert kept == MANY  # somebody had not read them
    assert blocking_redis_client().xlen(STREAM) < MANY / 2
    link.refresh_from_db()
    assert link.clicks == MANY


@pytest.mark.usefixtures("no_redis")
def test_lag_is_unknown_without_redis() -> None:
    assert stream.lag_seconds() is None


def test_batches_are_read_in_order() -> None:
    counting.count_clicks()
    seen: list[Batch] = []
    for number in range(3):
        blocking_redis_client().xadd(STREAM, {"id": str(number) * 32, "batch": "[]"})

    counting.CONSUMER.consume(seen.extend)

    assert [batch.id[0] for batch in seen] == ["0", "1", "2"]
