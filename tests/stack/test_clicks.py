"""Clicks while processes are killed: none counts twice, few are lost."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import redis
from django.db.models import Sum

from config.local.store_servers import Redis
from links.clicks import stream
from links.clicks.buffer import FLUSH_INTERVAL, STREAM
from links.models import ClickDay, Link
from tests.factories import LinkFactory
from tests.sql import execute
from tests.stack.programs import wait_until
from tests.stack.stack import Stack
from tests.stack.visitors import LinkVisitors

CLICKS = 10_000
LINKS = 50
LAST_MOMENT = 0.25  # seconds: what is promised, whatever the programs are set to
BUSY = 0.25  # on top of it, where threads wait for a processor
DRAINED = 30.0  # seconds

Kill = tuple[float, float]  # begun, and done

COUNTED = "SELECT referrer FROM links_click WHERE link_id = ANY(%s)"


@pytest.fixture(autouse=True)
def recovery(stack: Stack) -> Iterator[None]:
    yield
    stack.recover()
    stack.new_errors()  # of a lost store anybody may complain


def test_kills_lose_only_the_last_moment_and_count_nothing_twice(stack: Stack) -> None:
    links = LinkFactory.create_batch(LINKS, company=stack.sender().company)
    kills: list[Kill] = []

    with durable(stack.redis), LinkVisitors(stack.url, [link.slug for link in links]) as visitors:
        visitors.limit = CLICKS // 2
        answered(visitors, CLICKS // 5)
        kills.append(kill_web(stack))
        answered(visitors, CLICKS * 2 // 5)
        stack.redis.restart()
        stack.worker.kill()
        stack.worker.start()
        visitors.limit = CLICKS
        wait_until_resent(stack)
        answered(visitors, CLICKS * 4 // 5)
        kills.append(kill_web(stack))
        answered(visitors, CLICKS)
        times = wait_until_drained(links)

    assert visitors.unexpected_statuses == []
    assert [referrer for referrer, n in times.items() if n > 1] == []
    assert set(times) <= visitors.answered.keys() | visitors.unanswered
    lost = {referrer: at for referrer, at in visitors.answered.items() if referrer not in times}
    assert {referrer: at for referrer, at in lost.items() if not is_at_risk(at, kills)} == {}
    assert totals(links) == (len(times), len(times))


def answered(visitors: LinkVisitors, count: int) -> None:
    wait_until(lambda: len(visitors.answered) >= count, 60)


def kill_web(stack: Stack) -> Kill:
    begun_at = time.monotonic()
    stack.web.kill()
    dead_at = time.monotonic()
    stack.web.start()
    return begun_at, dead_at


def is_at_risk(at: float, kills: list[Kill]) -> bool:
    """Answered in the last moment before a kill, whenever the visitor came to notice."""
    return any(begun - LAST_MOMENT - BUSY <= at <= dead + BUSY for begun, dead in kills)


def wait_until_resent(stack: Stack) -> None:
    """Asserts that the clicks buffered while Redis was away are in the stream."""
    with redis.Redis.from_url(stack.redis.url) as client:
        before = client.xinfo_stream(STREAM)["last-generated-id"]
        wait_until(lambda: client.xinfo_stream(STREAM)["last-generated-id"] != before)


def wait_until_drained(links: list[Link]) -> Counter[str]:
    """The counts of each visitor, once no click is on its way."""
    time.sleep(2 * FLUSH_INTERVAL)
    wait_until(lambda: stream.lag_seconds() == 0, DRAINED)
    return Counter(referrer for (referrer,) in execute(COUNTED, [[link.pk for link in links]]))


def totals(links: list[Link]) -> tuple[int, int]:
    """Clicks by the links, and by their days."""
    by_link = Link.objects.filter(pk__in=[link.pk for link in links]).aggregate(n=Sum("clicks"))
    by_day = ClickDay.objects.filter(link__in=links).aggregate(n=Sum("clicks"))
    return by_link["n"], by_day["n"]


@contextmanager
def durable(server: Redis) -> Iterator[None]:
    """A Redis that keeps its data on disk, as in production."""
    with redis.Redis.from_url(server.url) as client:
        client.config_set("appendonly", "yes")
        wait_until(lambda: client.info("persistence")["aof_rewrite_in_progress"] == 0)
    server.durable = True
    try:
        yield
    finally:
        server.durable = False
        with redis.Redis.from_url(server.url) as client:
            client.config_set("appendonly", "no")
        (server.directory / "appendonly.aof").unlink(missing_ok=True)
