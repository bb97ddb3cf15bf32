"""The targets of slugs; adjacent releases read each other's entries in Redis."""

from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from links.follow import change_feed, resolution
from links.follow.cached_row import GONE, NOT_FOUND, CachedRow, LinkTarget, pack, unpack
from links.follow.resolution import LinkStore, Resolver
from links.manage import changes
from links.models import Link
from storage.redis_client import redis_client
from tests.factories import LinkFactory
from tests.links.visiting import Ask, in_seconds, wait_until, without_redis

TARGET = LinkTarget("0a", 1.5, "https://example.com/", 7, "7/0b", True, "https://example.com/late")
ROW = CachedRow(is_alias=False, target=TARGET, max_ttl=30.0)
STORED = b'[false,"0a",1.5,"https://example.com/",7,"7/0b",true,"https://example.com/late",30.0]'


def test_row_is_stored_as_other_releases_read_it() -> None:
    assert pack(ROW) == STORED
    assert unpack(STORED) == ROW


def test_field_of_a_newer_release_is_ignored() -> None:
    assert unpack(STORED.replace(b",30.0]", b',"added",30.0]')) == ROW


def test_missing_link_is_stored_as_null() -> None:
    assert (pack(None), unpack(b"null")) == (b"null", None)


pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.links.visiting")]


def test_cache_ttls_are_at_most_a_second() -> None:
    """Changes reach every process within a second, also one that hears nothing of them."""
    assert resolution.TTL <= 1.0
    assert change_feed.RECONNECT_DELAY <= 1.0


def test_second_hit_needs_no_query(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    link = LinkFactory.create()
    resolver = Resolver()
    expected = LinkTarget(link.id.hex, None, link.url, link.company_id)
    resolver.resolve("nobody-1")  # the first answer of a process asks what is stopped, too

    with django_assert_num_queries(1):
        assert resolver.resolve(link.slug) == expected
    with django_assert_num_queries(0):
        assert resolver.resolve(link.slug) == expected


def test_other_processes_read_from_redis(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    alias = LinkFactory.create(slug="Learned-1", is_alias=True, expires_at=in_seconds(50))
    asked = ["Learned-1", "learned-1", "LEARNED-1", "nobody-1"]
    targets = [Resolver().resolve(slug) for slug in asked]

    with django_assert_num_queries(0):
        assert [Resolver().resolve(slug) for slug in asked] == targets

    assert alias.expires_at is not None
    live = LinkTarget(alias.id.hex, alias.expires_at.timestamp(), alias.url, alias.company_id)
    assert targets == [live, live, live, NOT_FOUND]


def test_redis_ttl_is_at_most_the_lifetime_of_the_link() -> None:
    link = LinkFactory.create(expires_at=in_seconds(50))
    forever = LinkFactory.create()

    for slug in (link.slug, forever.slug, "nobody-2"):
        Resolver().resolve(slug)

    lives: list[Any] = [
        redis_client().ttl(f"l2:{slug}") for slug in (link.slug, forever.slug, "nobody-2")
    ]
    assert 48 <= lives[0] <= 50
    assert 86_390 <= lives[1] <= 86_400
    assert 28 <= lives[2] <= 30


def test_new_link_needs_no_sql(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    links = LinkFactory.create_batch(3)
    resolution.cache_new(*links)
    resolution.resolve(links[0].slug)  # a process reads the stops once

    with django_assert_num_queries(0):
        targets = [Resolver().resolve(link.slug) for link in links]

    assert targets == [LinkTarget(link.id.hex, None, link.url, link.company_id) for link in links]


def test_new_link_replaces_a_cached_404() -> None:
    assert resolution.resolve("early-bird") is NOT_FOUND

    link = LinkFactory.create(slug="Early-Bird", is_alias=True)
    resolution.cache_new(link)

    assert isinstance(resolution.resolve("early-bird"), LinkTarget)
    assert isinstance(Resolver().resolve("Early-Bird"), LinkTarget)


def test_late_write_of_a_new_link_does_not_undo_a_change() -> None:
    made = LinkFactory.create(slug="Barred-1", is_alias=True)
    Link.objects.filter(pk=made.pk).update(disabled_at=timezone.now())
    resolution.invalidate_after_commit(made)

    Resolver().cache_new(made)  # as it was when it was made

    assert redis_client().get(f"l2:{made.key}") == b""
    assert Resolver().resolve(made.slug) is GONE


def test_reassigned_alias_leads_to_its_new_link_at_once() -> None:
    old = LinkFactory.create(slug="Handed-On", is_alias=True, disabled_at=timezone.now())
    assert resolution.resolve(old.slug) is GONE

    Link.objects.filter(pk=old.pk).update(retired_at=timezone.now())
    new = LinkFactory.create(slug="Handed-On", is_alias=True, url="https://example.com/new")
    resolution.cache_new(new)

    for resolver in (resolution._resolver, Resolver()):
        assert isinstance(result := resolver.resolve("handed-on"), LinkTarget)
        assert result.url == new.url


def test_crash_after_commit_leaves_redis_fresh() -> None:
    link = LinkFactory.create()
    Resolver().resolve(link.slug)

    # Within a test's own transaction nothing that follows a commit is done.
    changes.change(link=link, new_values=changes.Change(is_enabled=False))

    assert Resolver().resolve(link.slug) is GONE


def test_slow_reader_does_not_undo_a_change() -> None:
    link = LinkFactory.create()
    slow = LinkStore()
    rows = slow._read_sql([link.key])

    Link.objects.filter(pk=link.pk).update(disabled_at=timezone.now())
    resolution.invalidate_after_commit(link)
    slow._write_redis(rows)

    assert Resolver().resolve(link.slug) is GONE


def test_other_processes_hear_of_a_change() -> None:
    link = LinkFactory.create()
    other = Resolver()
    other.resolve(link.slug)

    def is_told() -> bool:
        resolution.invalidate_after_commit(link)  # again, as the other may not be listening yet
        return not other._cache.entries

    assert wait_until(is_told)


def test_process_cache_entry_expires(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    link = LinkFactory.create()
    resolver = Resolver()
    resolver.resolve(link.slug)
    until, outcome = resolver._cache.entries[link.slug]

    resolver._cache.entries[link.slug] = until - resolution.TTL, outcome
    Link.objects.filter(pk=link.pk).update(disabled_at=timezone.now())
    redis_client().delete(f"l2:{link.key}")

    with django_assert_num_queries(1):
        assert resolver.resolve(link.slug) is GONE


@pytest.mark.usefixtures("no_redis")
def test_links_work_without_redis(ask: Ask) -> None:
    link = LinkFactory.create()
    resolution.cache_new(link)

    assert ask(f"/{link.slug}")[0] == 302
    assert ask("/nobody-3")[0] == 404


def test_change_is_published_when_redis_returns(settings: Settings) -> None:
    link = LinkFactory.create()
    resolver = Resolver()
    resolver.resolve(link.slug)
    with without_redis(settings):
        resolver.invalidate_after_commit(link)

    assert wait_until(lambda: redis_client().get(f"l2:{link.key}") == b"")
