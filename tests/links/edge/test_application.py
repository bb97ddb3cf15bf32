"""An edge in this process: its replica is the Redis of the tests, its origin the live server."""

from collections.abc import Callable
from io import BytesIO
from typing import Any

import orjson
import pytest
import requests
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from config.storage.redis_client import redis_client
from links.addresses import short_hosts
from links.edge import replica
from links.edge.application import EdgeApplication, EdgeOptions, admit
from links.edge.feed import ReplicaFeed
from links.follow import edge_calls, resolution
from links.follow.cached_row import redis_key
from links.follow.slug_cache import SlugCache
from links.manage import stopping
from tests.factories import LinkFactory, ShortHostFactory
from tests.links.visiting import BROWSER_ENVIRON, Answer, counted, environ_of, nonce_of, wait_until

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = "s" * 32
NOBODY = "http://127.0.0.1:1"
MakeEdge = Callable[..., EdgeApplication]


@pytest.fixture
def make_edge(live_server: LiveServer, settings: Settings) -> MakeEdge:
    settings.SHORT_URL = "https://go.test"
    settings.EDGE_TOKENS = {"e1": SECRET.encode()}
    resolution._stops.refresh()
    requests.post(f"{live_server.url}/{edge_calls.PING}", timeout=60)  # imports every view

    def make(**options: Any) -> EdgeApplication:
        short_hosts.invalidate_cache()
        short_hosts.find("")
        known = {
            "origin_url": live_server.url,
            "token": f"e1:{SECRET}",
            "replica_url": settings.REDIS_URL,
            "max_staleness": 900,
            "miss_rate": 50,
        }
        edge = EdgeApplication(EdgeOptions(**known | options))
        edge._resolver._feed.is_listening = True  # the tests read when they want
        edge.replica.refresh()
        return edge

    return make


def call(
    edge: EdgeApplication, path: str, *, method: str = "GET", host: str = "go.test", form: str = ""
) -> Answer:
    started: list[Any] = []
    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": f"/{path}",
        "HTTP_HOST": host,
        **BROWSER_ENVIRON,
        "REMOTE_ADDR": "198.51.100.1",
        "CONTENT_TYPE": "application/x-www-form-urlencoded",
        "CONTENT_LENGTH": str(len(form)),
        "wsgi.input": BytesIO(form.encode()),
    }
    body = b"".join(edge(environ, lambda *words: started.append(words)))  # type: ignore[arg-type]
    ((status, headers),) = started
    return int(status[:3]), dict(headers), body


def status_of(edge: EdgeApplication, path: str, **options: Any) -> int:
    edge._resolver._cache.clear()
    return call(edge, path, **options)[0]


def test_row_comes_from_the_origin_and_then_from_the_replica(make_edge: MakeEdge) -> None:
    link = LinkFactory.create()

    first = call(make_edge(), link.slug)
    without_origin = call(make_edge(origin_url=NOBODY), link.slug)

    assert first[1]["Location"] == without_origin[1]["Location"] == link.url
    assert counted() == [(link.id.hex, "person")] * 2


def test_known_link_is_followed_in_front_of_the_application(make_edge: MakeEdge) -> None:
    link, edge = LinkFactory.create(), make_edge()

    def early(path: str = link.slug, **request: Any) -> Any:
        return edge.respond_early(environ_of(f"/{path}", **{"host": "go.test"} | request))

    assert early() is None
    by_application = call(edge, link.slug)
    status, headers, body = early()

    assert (status, dict(headers), body) == by_application
    assert early(host="elsewhere.test") is early("readyz") is early(method="HEAD") is None
    assert counted() == [(link.id.hex, "person")] * 2


def test_unknown_slug_is_404_and_its_row_too(make_edge: MakeEdge) -> None:
    assert status_of(make_edge(), "nobody-7") == 404
    assert status_of(make_edge(origin_url=NOBODY), "nobody-7") == 404
    assert status_of(make_edge(origin_url=NOBODY), "nobody-8") == 503


def test_stops_are_heeded_by_replica_and_origin(make_edge: MakeEdge) -> None:
    known, unknown = LinkFactory.create(), LinkFactory.create()
    edge = make_edge()
    assert status_of(edge, known.slug) == 302

    for link in (known, unknown):
        stopping.stop(company=link.company)
    by_origin = status_of(edge, unknown.slug)
    edge.replica.refresh()

    assert (by_origin, status_of(edge, known.slug)) == (410, 410)


def test_lagging_replica_is_second_to_the_origin(
    make_edge: MakeEdge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replica, "MAX_LAG", -1)
    link = LinkFactory.create()
    status_of(make_edge(), link.slug)
    stopping.stop(company=link.company)

    edge, alone = make_edge(), make_edge(origin_url=NOBODY)
    for one in (edge, alone):
        one.replica.stops.value = frozenset()  # all that it had heard of

    assert (status_of(edge, link.slug), status_of(alone, link.slug)) == (410, 302)
    assert call(edge, "readyz")[0] == 200
    assert orjson.loads(call(edge, "readyz")[2])["status"] == "degraded"


def test_replica_that_is_too_old_is_not_used(
    make_edge: MakeEdge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replica, "MAX_LAG", -1)
    link = LinkFactory.create()
    status_of(make_edge(), link.slug)

    edge, alone = make_edge(max_staleness=-1), make_edge(origin_url=NOBODY, max_staleness=-1)
    alone.origin.ping()

    assert (status_of(edge, link.slug), status_of(alone, link.slug)) == (302, 503)
    assert call(alone, "readyz")[0] == 503
    assert "s old" in call(alone, "readyz")[2].decode()


def test_edge_without_a_replica_asks_the_origin(make_edge: MakeEdge) -> None:
    link = LinkFactory.create()
    edge = make_edge(replica_url="unix:///nowhere/redis.sock")

    assert status_of(edge, link.slug) == 302
    assert (
        status_of(edge, link.slug, host="go.unknown.test") == 503
    )  # which hosts there are, it asks
    assert orjson.loads(call(edge, "readyz")[2])["checks"]["replica"] == "empty"


def test_hosts(make_edge: MakeEdge) -> None:
    host = ShortHostFactory.create(host="go.acme.test")
    link = LinkFactory.create(host=host, company=host.company)
    edge = make_edge()

    assert status_of(edge, link.slug, host="GO.acme.test:443") == 302
    assert status_of(edge, link.slug) == 404
    assert status_of(edge, link.slug, host="testserver") == 400
    assert call(edge, "livez", host="anything")[0] == 200
    assert orjson.loads(call(edge, "readyz")[2])["status"] == "ready"


def test_one_time_link_is_passed_on(make_edge: MakeEdge) -> None:
    link = LinkFactory.create(is_once=True)
    edge = make_edge()

    nonce = nonce_of(call(edge, link.slug)[2])
    opened = call(edge, link.slug, method="POST", form=f"nonce={nonce}")
    too_long = call(edge, link.slug, method="POST", form=f"nonce={nonce}&x={'x' * 20_000}")

    assert (opened[0], opened[1]["Location"]) == (303, link.url)
    assert too_long[0] == 403  # without its nonce
    assert counted() == [(link.id.hex, "person")]


def test_visits_and_misses_that_reach_the_origin_are_limited(
    make_edge: MakeEdge, settings: Settings
) -> None:
    settings.LINK_MISS_LIMIT = (3, 600)
    link = LinkFactory.create()
    edge = make_edge(miss_rate=1)
    status_of(edge, link.slug)

    previews = [call(edge, f"{link.slug}+")[0] for _ in range(12)]
    misses = [status_of(edge, f"guess-{number}") for number in range(4)]

    assert (previews[:8], previews[-1]) == ([200] * 8, 503)
    assert (misses[:2], misses[-1]) == ([404, 404], 503)
    assert status_of(edge, link.slug) == 302


def test_visitor_over_the_limit_is_refused_before_the_origin_is_asked(
    make_edge: MakeEdge, settings: Settings
) -> None:
    settings.LINK_MISS_LIMIT = (2, 600)
    known, unknown = LinkFactory.create(), LinkFactory.create()
    edge = make_edge()
    status_of(edge, known.slug)

    misses = [status_of(edge, f"guess-{number}") for number in range(3)]

    assert misses == [404, 404, 429]
    assert status_of(edge, unknown.slug) == 429
    assert redis_client().get(redis_key(unknown.key)) is None
    assert status_of(edge, known.slug) == 302


def test_edge_with_a_withdrawn_token_learns_nothing(
    make_edge: MakeEdge, settings: Settings
) -> None:
    link, edge = LinkFactory.create(), make_edge()
    settings.EDGE_TOKENS = {}
    edge._look()

    assert edge.origin.state == "HTTP 401"
    assert status_of(edge, link.slug) == 503


def test_feed_clears_the_cache_and_reads_the_stops(make_edge: MakeEdge) -> None:
    link, edge = LinkFactory.create(), make_edge()
    cache = SlugCache()
    feed = ReplicaFeed(cache, edge.replica)
    feed.start()
    feed.start()
    cache.ttl = 600.0
    assert wait_until(lambda: redis_client().pubsub_numsub("links")[0][1] > 0)

    cache.load("some-slug", lambda: resolution.NOT_FOUND)
    resolution.invalidate_after_commit(link)
    is_cleared = wait_until(lambda: not cache.entries)
    stopping.stop(company=link.company)

    assert is_cleared
    assert wait_until(lambda: link.company_id in edge.replica.stops.value)


def test_bodies_of_forms_alone_are_received(settings: Settings) -> None:
    allowance = admit({"REMOTE_ADDR": "198.51.100.1"})
    settings.PRODUCTION = True

    assert allowance == ("198.51.100.1", 16_384)
    assert admit({"REMOTE_ADDR": "198.51.100.1", "wsgi.url_scheme": "http"}) is None
