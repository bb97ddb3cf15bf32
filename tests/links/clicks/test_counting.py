"""Clicks of the stream are counted in PostgreSQL, each once."""

import time
from collections.abc import Iterator
from datetime import UTC, timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import orjson
import pytest
from django.conf import settings
from django.utils import timezone

from links.clicks import counting, partitions, statistics
from links.clicks.bot_detection import VisitorKind
from links.clicks.buffer import STREAM
from links.clicks.stream import Batch, Click
from links.models import ClickDay, Link
from storage.months.calendar import month_of
from storage.redis_client import blocking_redis_client
from tests.api.races import at_once
from tests.factories import LinkFactory
from tests.sql import execute

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _group() -> Iterator[None]:
    blocking_redis_client().delete(STREAM)
    counting.count_clicks()  # makes the group
    yield
    blocking_redis_client().delete(STREAM)


def click(link: Link, *kinds: VisitorKind, batch: str = "", at: float = 0.0) -> str:
    batch = batch or uuid4().hex
    millis = int((at or time.time()) * 1000)
    rows = [
        [link.id.hex, kind, millis + n, "news.example", "ios", "KZ"] for n, kind in enumerate(kinds)
    ]
    blocking_redis_client().xadd(STREAM, {"id": batch, "batch": orjson.dumps(rows)})
    return batch


class DyingError(BaseException):
    """Raised where a process would be killed."""


def die(_batches: list[Batch]) -> None:
    raise DyingError


def count_and_die(batches: list[Batch]) -> None:
    counting.count(batches)
    raise DyingError


def counts(link: Link) -> tuple[int, int, int]:
    link.refresh_from_db()
    return link.clicks, link.previews, link.scanners


def rows_of(link: Link) -> list[tuple[str, str, str, str]]:
    result = execute(
        "SELECT kind, referrer, device, country FROM links_click WHERE link_id = %s ORDER BY at",
        [link.id],
    )
    rows: list[tuple[str, str, str, str]] = result
    return rows


def test_clicks_are_counted_by_kind() -> None:
    link = LinkFactory.create()
    other = LinkFactory.create()
    click(
        link,
        VisitorKind.PERSON,
        VisitorKind.PREVIEW,
        VisitorKind.PROBE,
        VisitorKind.PREFETCH,
        VisitorKind.SCANNER,
        VisitorKind.PERSON,
    )
    click(other, VisitorKind.PERSON)

    assert counting.count_clicks() == 2

    assert counts(link) == (2, 3, 1)
    assert counts(other) == (1, 0, 0)
    assert rows_of(other) == [("person", "news.example", "ios", "KZ")]
    day = ClickDay.objects.get(link=link)
    assert (day.clicks, day.previews, day.scanners) == (2, 3, 1)
    assert link.first_click_at is not None
    assert link.last_click_at is not None
    assert link.last_click_at - link.first_click_at == timedelta(milliseconds=5)


def test_redelivered_entry_counts_once() -> None:
    link = LinkFactory.create()
    batch = click(link, VisitorKind.PERSON)
    counting.count_clicks()

    click(link, VisitorKind.PERSON, batch=batch)
    counting.count_clicks()

    assert counts(link) == (1, 0, 0)
    assert len(rows_of(link)) == 1


def test_unacknowledged_entry_is_read_again() -> None:
    link = LinkFactory.create()
    click(link, VisitorKind.PERSON)

    with pytest.raises(DyingError):
        counting.CONSUMER.consume(die)
    counting.count_clicks()

    assert counts(link) == (1, 0, 0)


def test_entry_counted_but_not_acknowledged_counts_once() -> None:
    link = LinkFactory.create()
    click(link, VisitorKind.PERSON)

    with pytest.raises(DyingError):
        counting.CONSUMER.consume(count_and_die)
    counting.count_clicks()

    assert counts(link) == (1, 0, 0)
    assert len(rows_of(link)) == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"id": "no id", "batch": "[]"},
        {"id": uuid4().hex, "batch": "{"},
        {"id": uuid4().hex, "batch": f'[["{uuid4().hex}", "person", 1e18]]'},
        {"batch": "[]"},
    ],
)
def test_malformed_entry_does_not_block_others(fields: dict[Any, Any]) -> None:
    link = LinkFactory.create()
    blocking_redis_client().xadd(STREAM, fields)
    click(link, VisitorKind.PERSON)

    assert counting.count_clicks() == 2

    assert counts(link) == (1, 0, 0)


@pytest.mark.parametrize(
    "broken",
    [
        ["no link", "person", 1],
        [uuid4().hex, "angel", 1],
        [uuid4().hex, "person", "soon"],
        [],
        None,
        ["OF_LINK", "person", 1, "\0"],  # which PostgreSQL refuses
        ["OF_LINK", "person", 1, {"a": 1}, "linux", "ZZZ"],
    ],
)
def test_broken_click_keeps_others_of_its_entry(broken: list[Any] | None) -> None:
    link = LinkFactory.create()
    other = LinkFactory.create()
    now = int(time.time() * 1000)
    rows = [
        [link.id.hex, "person", now, "", "linux", "RU"],
        broken and [link.id.hex if cell == "OF_LINK" else cell for cell in broken],
        [other.id.hex, "person", now, "", "linux", "RU"],
    ]
    fields: dict[Any, Any] = {"id": uuid4().hex, "batch": orjson.dumps(rows)}
    blocking_redis_client().xadd(STREAM, fields)

    assert counting.count_clicks() == 1

    assert (counts(link), counts(other)) == ((1, 0, 0), (1, 0, 0))
    assert counting.count_clicks() == 0


def test_clicks_of_unknown_links_are_dropped() -> None:
    link = LinkFactory.build()
    click(link, VisitorKind.PERSON)

    counting.count_clicks()

    assert rows_of(link) == []


def test_implausible_click_time_is_replaced_by_now() -> None:
    link = LinkFactory.create()
    click(link, VisitorKind.PERSON, at=time.time() + 10**8)

    counting.count_clicks()

    link.refresh_from_db()
    assert link.last_click_at is not None
    assert abs(link.last_click_at - timezone.now()) < timedelta(minutes=5)


def test_old_partitions_are_dropped_and_day_counts_stay() -> None:
    link = LinkFactory.create()
    old = timezone.now() - timedelta(days=70)
    partitions.ensure(month_of(old, UTC))
    counting.count([Batch(uuid4().hex, [Click(link.id, "person", int(time.time() * 1000))])])
    execute("UPDATE links_click SET at = %s", [old])
    ClickDay.objects.update(day=old.date())

    dropped = [partitions.rotate(100), partitions.rotate(100)]

    assert dropped == [1, 0]
    assert rows_of(link) == []
    assert counts(link) == (1, 0, 0)
    assert [day.clicks for day in statistics.by_day(link, old.date(), old.date())] == [1]


def test_partition_within_the_retention_stays() -> None:
    link = LinkFactory.create()
    kept = timezone.now() - timedelta(days=settings.RAW_RETENTION - 1)
    partitions.ensure(month_of(kept, UTC))
    counting.count([Batch(uuid4().hex, [Click(link.id, "person", int(time.time() * 1000))])])
    execute("UPDATE links_click SET at = %s", [kept])

    partitions.rotate(100)

    assert len(rows_of(link)) == 1


@pytest.mark.django_db(transaction=True)
def test_concurrent_counters_count_once() -> None:
    links = [LinkFactory.create() for _ in range(5)]
    now = int(time.time() * 1000)
    entries = [Batch(uuid4().hex, [Click(link.id, "person", now)]) for link in links * 4]

    at_once([partial(counting.count, order) for order in (entries, entries[::-1]) * 2])

    assert [counts(link) for link in links] == [(4, 0, 0)] * 5
