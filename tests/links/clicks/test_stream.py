"""The lag of the stream of clicks."""

import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import orjson
import pytest

from links.clicks import counting, delivery_proof, stream
from links.clicks.buffer import STREAM
from storage.redis_client import blocking_redis_client

pytestmark = pytest.mark.django_db
LATE = 90  # seconds


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
    lag_seconds = stream.lag_seconds()
    return None if lag_seconds is None else int(lag_seconds) // 10 * 10


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


@pytest.mark.usefixtures("no_redis")
def test_lag_is_unknown_without_redis() -> None:
    assert stream.lag_seconds() is None
