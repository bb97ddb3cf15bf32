"""Concurrent misses share one read, and each store serves while another is down."""

import threading
import time
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from links.follow import change_feed, resolution
from links.follow.cached_row import (
    GONE,
    NOT_FOUND,
    CachedRow,
    ExpiredTarget,
    LinkTarget,
    Resolution,
    redis_key,
)
from links.follow.change_feed import StopCache
from links.follow.resolution import LinkStore, Resolver
from links.models import Link
from storage.redis_client import redis_client
from tests.factories import LinkFactory
from tests.links.visiting import Ask, in_seconds, wait_until, without_redis
from tests.sql import execute

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.urls("tests.links.visiting")]


class SlowStore(LinkStore):
    """Reads PostgreSQL slowly, and records the reads."""

    def reset(self) -> None:
        super().reset()
        self.reads: list[list[str]] = []
        self.may_finish = threading.Event()

    def _read_sql(self, keys: list[str]) -> dict[str, CachedRow | None]:
        self.reads.append(keys)
        rows = super()._read_sql(keys)
        self.may_finish.wait(60)
        return rows


def visit_at_once(store: SlowStore, slug: str, visitors: int) -> list[Resolution]:
    resolver = Resolver(StopCache(), store)
    resolved: list[Resolution] = []

    def visit() -> None:
        try:
            resolved.append(resolver.resolve(slug))
        finally:
            connection.close()

    threads = [threading.Thread(target=visit) for _ in range(visitors)]
    for thread in threads:
        thread.start()
    assert wait_until(lambda: bool(store.reads))
    time.sleep(0.1)
    store.may_finish.set()
    for thread in threads:
        thread.join()
    return resolved


@pytest.mark.parametrize("is_there", [True, False])
def test_concurrent_misses_read_once(is_there: bool) -> None:
    slug = LinkFactory.create().slug if is_there else "nobody-7"
    store = SlowStore()

    resolved = visit_at_once(store, slug, 12)

    assert store.reads == [[slug]]
    assert [isinstance(target, LinkTarget) for target in resolved] == [is_there] * 12


def test_failed_read_is_not_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    link = LinkFactory.create()
    store = LinkStore()
    resolver = Resolver(StopCache(), store)
    read_sql = store._read_sql

    def fail(_keys: list[str]) -> Mapping[str, CachedRow | None]:
        raise TimeoutError

    monkeypatch.setattr(store, "_read_sql", fail)
    with pytest.raises(TimeoutError):
        resolver.resolve(link.slug)
    monkeypatch.setattr(store, "_read_sql", read_sql)

    assert isinstance(resolver.resolve(link.slug), LinkTarget)


def test_read_older_than_a_change_is_not_cached() -> None:
    link = LinkFactory.create()
    store = SlowStore()
    resolver = Resolver(StopCache(), store)
    slow = threading.Thread(target=resolver.resolve, args=[link.slug])
    slow.start()
    assert wait_until(lambda: bool(store.reads))

    Link.objects.filter(pk=link.pk).update(disabled_at=timezone.now())
    resolver.invalidate_after_commit(link)
    store.may_finish.set()
    slow.join()

    assert resolver.resolve(link.slug) is GONE


def test_expiry_applies_to_cached_links() -> None:
    gone = LinkFactory.create(expires_at=in_seconds(100))
    moved = LinkFactory.create(expires_at=in_seconds(100), expired_url="https://example.com/late")
    processes = [Resolver(StopCache()) for _ in range(2)]
    before = [type(process.resolve(link.slug)) for process in processes for link in (gone, moved)]

    with time_machine.travel(timezone.now() + timedelta(seconds=100.5), tick=False):
        after = [process.resolve(link.slug) for process in processes for link in (gone, moved)]

    assert before == [LinkTarget] * 4
    assert after == [GONE, ExpiredTarget("https://example.com/late", is_once=False)] * 2


@pytest.fixture
def no_links_table() -> Iterator[None]:
    execute("ALTER TABLE links_link RENAME TO links_link_away")
    yield
    execute("ALTER TABLE links_link_away RENAME TO links_link")


def test_cached_links_are_served_without_the_database(
    ask: Ask, settings: Settings, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolution._resolver._cache, "ttl", 60.0)
    held, in_redis, unknown = LinkFactory.create_batch(3)
    ask(f"/{in_redis.slug}")
    resolution._resolver._cache.clear()
    ask(f"/{held.slug}")

    request.getfixturevalue("no_links_table")
    statuses = [ask(f"/{link.slug}")[0] for link in (held, in_redis, unknown)]
    with without_redis(settings):
        statuses += [ask(f"/{link.slug}")[0] for link in (held, unknown)]

    assert statuses == [302, 302, 503, 302, 503]


def test_new_link_with_a_channel_tag_is_not_cached_ahead(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    assert resolution.resolve("sent-by-1") is NOT_FOUND
    link = LinkFactory.create(
        slug="Sent-by-1", is_alias=True, utm="m={channel}", message_id=LinkFactory.create().pk
    )

    resolution.cache_new(link)

    assert redis_client().get(redis_key(link.key)) == b""  # nor may a slow reader's 404 be
    assert isinstance(resolution.resolve("sent-by-1"), LinkTarget)


@pytest.mark.parametrize("silence", ["subscribe", "hear"])
def test_silent_redis_counts_as_down(silence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stops = StopCache()
    link = LinkFactory.create()
    other = Resolver(stops)
    monkeypatch.setattr(change_feed, "SILENCE_TIMEOUT", 0.1)
    monkeypatch.setattr(change_feed, "PubSub", _Deaf if silence == "hear" else _Broken)
    other.resolve(link.slug)

    execute("INSERT INTO links_stop (company_id, stopped_at) VALUES (%s, now())", [link.company_id])

    assert wait_until(lambda: other.resolve(link.slug) is GONE)


class _Deaf:
    """A subscription to a server that accepted it and says no more."""

    def __init__(self, *_args: Any) -> None:
        pass

    def __enter__(self) -> "_Deaf":
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    def subscribe(self, _channel: str) -> None:
        pass

    def ping(self) -> None:
        pass

    def get_message(self, timeout: float) -> None:
        time.sleep(min(timeout, 0.15))


class _Broken(_Deaf):
    def subscribe(self, _channel: str) -> None:
        raise OSError
