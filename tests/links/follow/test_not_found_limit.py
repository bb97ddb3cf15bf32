"""A visitor who tries many unknown names of links is refused for a while."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from storage.redis_client import redis_client
from tests.factories import LinkFactory
from tests.links.visiting import Ask, call, without_redis

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.links.visiting")]


@pytest.fixture(autouse=True)
def limit(settings: Settings) -> int:
    settings.LINK_MISS_LIMIT = (5, 600)
    return 5


def miss(ask: Ask, times: int, start: int = 0, **headers: str) -> list[int]:
    return [ask(f"/missing{n}", **headers)[0] for n in range(start, start + times)]


def test_misses_above_the_limit_get_429_with_retry_after(ask: Ask) -> None:
    assert miss(ask, 7) == [404] * 5 + [429] * 2

    status, headers, body = ask("/missing8")

    assert status == 429
    assert 590 <= int(headers["Retry-After"]) <= 600
    assert headers["Cache-Control"] == "private, no-store"
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert "Слишком много попыток" in body.decode()
    assert "Too many attempts" in body.decode()


def test_existing_links_are_never_limited(ask: Ask) -> None:
    live = LinkFactory.create(slug="Live-One", is_alias=True)
    dead = LinkFactory.create(disabled_at=live.created_at)
    once = LinkFactory.create(is_once=True)
    miss(ask, 9)

    statuses = [ask(f"/{text}")[0] for text in (live.slug, "live-one.", dead.slug, once.slug)]
    statuses.append(ask(f"/{live.slug}+")[0])

    assert statuses == [302, 302, 410, 200, 200]


def test_repeated_miss_counts_each_time(ask: Ask) -> None:
    assert [ask("/missing")[0] for _ in range(7)] == [404] * 5 + [429] * 2


@pytest.mark.parametrize("asked", [{"method": "POST"}, {"method": "HEAD"}])
def test_every_method_counts(ask: Ask, asked: dict[str, str]) -> None:
    for n in range(5):
        ask(f"/missing{n}", **asked)

    assert ask("/missing6", **asked)[0] == 429
    assert ask("/missing7+", **asked)[0] == 429


def test_impossible_slugs_are_not_counted(settings: Settings) -> None:
    settings.SHORT_URL = "https://kvt.example"
    for path in ("/", "/favicon.ico", "/robots.txt", "/wp-login.php", "/a/b", "/x" * 200):
        call(path, host="kvt.example")

    assert miss(lambda text, **headers: call(text, host="kvt.example", **headers), 5) == [404] * 5


def test_visitors_are_counted_separately() -> None:
    miss(call, 6, REMOTE_ADDR="203.0.113.7")

    assert miss(call, 1, REMOTE_ADDR="203.0.113.8") == [404]


@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("::ffff:203.0.113.9", "203.0.113.9", True),
        ("fe80::1%eth0", "fe80::2", True),
    ],
)
def test_ipv6_prefix_is_one_visitor(first: str, second: str, is_same: bool) -> None:
    miss(call, 6, REMOTE_ADDR=first)

    assert miss(call, 1, REMOTE_ADDR=second) == [429 if is_same else 404]


def test_address_comes_from_the_trusted_proxy(settings: Settings) -> None:
    settings.TRUSTED_PROXY_COUNT = 1
    for n in range(6):
        miss(call, 1, HTTP_X_FORWARDED_FOR=f"198.51.100.{n}, 203.0.113.7")

    assert miss(call, 1, HTTP_X_FORWARDED_FOR="203.0.113.7") == [429]
    assert miss(call, 1, HTTP_X_FORWARDED_FOR="203.0.113.7, 198.51.100.9") == [404]


@pytest.mark.parametrize("address", ["", "unix:"])
def test_visitor_without_an_address_is_not_counted(address: str) -> None:
    assert miss(call, 7, REMOTE_ADDR=address) == [404] * 7


def test_nothing_is_limited_without_redis(ask: Ask, settings: Settings) -> None:
    with without_redis(settings):
        assert miss(ask, 8) == [404] * 8


def test_redis_holds_no_addresses_and_no_counts_past_the_window(ask: Ask) -> None:
    with CaptureQueriesContext(connection) as asked:
        miss(ask, 6, REMOTE_ADDR="203.0.113.7")

    keys: list[bytes] = redis_client().keys("misses:*")  # type: ignore[assignment]
    assert [1 <= int(str(redis_client().ttl(key))) <= 600 for key in keys] == [True]
    assert all(b"203.0.113" not in key for key in keys)
    assert [
        query for query in asked.captured_queries if not query["sql"].lstrip().startswith("SELECT")
    ] == []
