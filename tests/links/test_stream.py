"""How long clicks have waited for whoever reads them."""

import time
from collections.abc import Iterator

import pytest

from config.redis_client import patient_redis
from links import counting, proving, stream
from links.clicks import STREAM
from links.judging import Batch

pytestmark = pytest.mark.django_db
LATE = 90  # seconds


@pytest.fixture(autouse=True)
def _stream() -> Iterator[None]:
    patient_redis().delete(STREAM)
    yield
    patient_redis().delete(STREAM)


def add(age: float) -> None:
    moment = int((time.time() - age) * 1000)
    patient_redis().xadd(STREAM, {"id": "0" * 32, "batch": "[]"}, id=f"{moment}-0")


def age() -> int | None:
    found = stream.backlog()
    return None if found is None else int(found) // 10 * 10


def test_nothing_waits_where_nothing_was_clicked() -> None:
    assert stream.backlog() == 0
    counting.count_clicks()  # makes the group
    assert stream.backlog() == 0


def test_first_entry_waits_for_readers_to_come() -> None:
    add(LATE)
    add(0)

    assert age() == LATE


def test_slowest_reader_is_waited_for() -> None:
    for read in (counting.count_clicks, proving.prove_clicks):
        read()
    add(LATE)
    add(0)
    counting.count_clicks()
    one_has_read = age()
    proving.prove_clicks()

    assert one_has_read == LATE
    assert stream.backlog() == 0


def test_what_a_reader_died_with_waits() -> None:
    counting.count_clicks()
    add(LATE)
    counting.READER.read(">")  # and no acknowledgement
    add(0)
    assert age() == LATE

    while counting.READER.consume(lambda _batches: None):
        pass

    assert stream.backlog() == 0


@pytest.mark.usefixtures("no_redis")
def test_without_redis_nobody_can_tell() -> None:
    assert stream.backlog() is None


def test_batches_are_read_in_their_order() -> None:
    counting.count_clicks()
    seen: list[Batch] = []
    for number in range(3):
        patient_redis().xadd(STREAM, {"id": str(number) * 32, "batch": "[]"})

    counting.READER.consume(seen.extend)

    assert [batch.id[0] for batch in seen] == ["0", "1", "2"]
