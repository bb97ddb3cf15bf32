"""Two edges without a database: they answer as the origin does, and hear what changes."""

import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import redis
import requests
from django.db.models import Sum
from django.utils import timezone

from links.clicks import stream
from links.follow import resolution
from links.manage import stopping
from links.models import ClickDay, Link
from tests.factories import LinkFactory, ShortHostFactory
from tests.links.visiting import nonce_of
from tests.stack.edges import MAX_STALENESS, MISS_RATE, Edge, EdgeStack, ask, edge_stack
from tests.stack.programs import wait_until
from tests.stack.stack import Stack
from tests.stack.test_doctor import examined

pytestmark = pytest.mark.timeout(240)  # the first one starts everything, and eight servers more
STOPPED_WITHIN = 1.0  # seconds: the bound that is promised
BUSY = 1.0  # on top of it, where threads wait for a processor
TARGET = "https://shop.example/offer?a=1"
GONE = 410


@pytest.fixture(scope="module")
def running_edges(
    running_stack: Stack, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EdgeStack]:
    with edge_stack(running_stack, tmp_path_factory.mktemp("edges")) as made:
        yield made


@pytest.fixture
def edges(stack: Stack, running_edges: EdgeStack) -> EdgeStack:
    return running_edges


def made(**fields: object) -> Link:
    return LinkFactory.create(**{"url": TARGET} | fields)


def test_link_is_resolved_by_the_origin_once_and_then_by_the_replica(edges: EdgeStack) -> None:
    link = made()

    first = edges.edges[0].ask(link.slug)
    with edges.without_origin():
        others = edges.ask_each(link.slug)

    assert [one.status for one in (first, *others)] == [302] * 3
    assert {one.headers["location"] for one in (first, *others)} == {TARGET}


@pytest.mark.parametrize("language", ["ru", "en"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT"])
def test_edge_answers_as_the_origin_does(edges: EdgeStack, method: str, language: str) -> None:
    past = timezone.now() - timedelta(hours=1)
    slugs = [
        made().slug,
        made(disabled_at=past).slug,
        made(expires_at=past).slug,
        made(expires_at=past, expired_url="https://shop.example/late").slug,
        made(is_once=True).slug,
        made(is_once=True, used_at=past).slug,
        made(slug="Summer-Sale", is_alias=True).slug.upper(),
    ]
    paths = [path for slug in slugs for path in (slug, f"{slug}+", f"{slug}).")]
    paths += ["", "no-such-link", "a/b", "%00", "api/v1/otp/send"]
    options: dict[str, Any] = {"method": method, "Accept-Language": language}

    by_origin = {path: ask(edges.origin, path, **options).without_nonce() for path in paths}
    by_edge = {path: edges.edges[0].ask(path, **options).without_nonce() for path in paths}
    Link.objects.filter(slug="Summer-Sale").delete()

    assert by_edge == by_origin


def test_company_hosts_lead_to_their_own_links(edges: EdgeStack) -> None:
    host = ShortHostFactory.create(host="go.edges.example")
    link = made(host=host, company=host.company)
    edge = edges.edges[0]
    wait_until(lambda: edge.ask(link.slug, host=host.host).status == 302)

    assert edge.ask(link.slug).status == 404
    assert edge.ask(link.slug, host="go.nobody.example").status == 400


def test_stopped_and_changed_links_are_gone_from_every_edge(edges: EdgeStack) -> None:
    disabled, stopped = made(), made()
    for link in (disabled, stopped):
        assert [one.status for one in edges.ask_each(link.slug)] == [302, 302]

    Link.objects.filter(pk=disabled.pk).update(disabled_at=timezone.now())
    resolution.invalidate_after_commit(disabled)
    stopping.stop(company=stopped.company)
    time.sleep(STOPPED_WITHIN + BUSY)

    for link in (disabled, stopped):
        assert [one.status for one in edges.ask_each(link.slug)] == [GONE, GONE]
    stopping.release(company=stopped.company)
    wait_until(lambda: [one.status for one in edges.ask_each(stopped.slug)] == [302, 302])


def test_one_time_link_opens_once_at_any_edge(edges: EdgeStack) -> None:
    link = made(is_once=True)
    first, second = edges.edges
    nonce = nonce_of(first.ask(link.slug).body)

    opened = second.ask(link.slug, method="POST", form={"nonce": nonce})
    again = first.ask(link.slug, method="POST", form={"nonce": nonce})

    assert (opened.status, opened.headers["location"], again.status) == (303, TARGET, GONE)
    wait_until(lambda: clicks_of(link) == (1, 1))


def test_edges_cut_off_from_the_origin_serve_what_they_know(edges: EdgeStack) -> None:
    known, stopped, once = made(), made(), made(is_once=True)
    for link in (known, stopped, once):
        edges.ask_each(link.slug)

    with edges.without_origin():
        stopping.stop(company=stopped.company)
        wait_until(lambda: {one.status for one in edges.ask_each(stopped.slug)} == {GONE})
        began_at = time.monotonic()
        statuses = [
            edges.edges[0].ask(path).status for path in (known.slug, made().slug, once.slug)
        ]
        seconds = time.monotonic() - began_at
        checks = edges.edges[0].checks()
        time.sleep(MAX_STALENESS + 1.0)
        too_old = edges.ask_each(known.slug)
        ready = [ask(edge.url, "readyz").status for edge in edges.edges]

    assert statuses == [302, 503, 503]
    assert seconds < 3
    assert checks["origin"] != "ok"
    assert [one.status for one in too_old] == [503, 503]
    assert ready == [503, 503]
    stopping.release(company=stopped.company)


def test_doctor_sees_both_replicas_and_a_stamp_that_grows_old(edges: EdgeStack) -> None:
    whole = examined(edges.stack, **edges.origin_environ)
    with edges.without_origin():
        time.sleep(6)
        late = examined(edges.stack, **edges.origin_environ)

    assert whole["links redis"]["ok"]
    assert (whole["edges"]["ok"], whole["edges"]["detail"][:25]) == (
        True,
        "replicas that follow: 2, ",
    )
    assert not late["edges"]["ok"]
    assert "Start the web processes" in late["edges"]["cure"]


def test_edge_without_its_replica_asks_the_origin(edges: EdgeStack) -> None:
    link, stopped, edge = made(), made(), edges.edges[0]
    stopping.stop(company=stopped.company)
    edge.replica.kill()
    try:
        statuses = [edge.ask(slug).status for slug in (link.slug, stopped.slug)]
    finally:
        edge.replica.start()
    wait_until(edge.is_whole, instead=edge.checks)

    assert statuses == [302, GONE]
    assert [edge.ask(slug).status for slug in (link.slug, stopped.slug)] == [302, GONE]
    stopping.release(company=stopped.company)


def test_edge_whose_replica_lags_hears_of_a_stop_from_the_origin(edges: EdgeStack) -> None:
    link, edge = made(), edges.edges[0]
    assert edge.ask(link.slug).status == 302
    edge.replica.client.replicaof("NO", "ONE")
    try:
        wait_until(lambda: edge.checks()["replica"] != "ok", 15)
        stopping.stop(company=link.company)
        wait_until(lambda: edge.ask(link.slug).status == GONE, STOPPED_WITHIN + BUSY)
    finally:
        edge.replica.client.replicaof("127.0.0.1", str(edges.links.port))
    edges.wait_whole()
    stopping.release(company=link.company)


def test_every_click_at_an_edge_is_counted_once(edges: EdgeStack) -> None:
    links = [made() for _ in range(5)]
    for n in range(100):
        assert {one.status for one in edges.ask_each(links[n % 5].slug)} == {302}
        if n == 30:
            edges.forbid_clicks()
    wait_until(lambda: "wait" in edges.edges[0].checks()["clicks"])
    edges.allow_clicks()

    wait_until(lambda: clicks_of(*links) == (200, 200), 30, instead=lambda: clicks_of(*links))
    time.sleep(1)
    wait_until(lambda: stream.lag_seconds() == 0)
    assert clicks_of(*links) == (200, 200)


def clicks_of(*links: Link) -> tuple[int, int]:
    by_link = Link.objects.filter(pk__in=[one.pk for one in links]).aggregate(n=Sum("clicks"))
    by_day = ClickDay.objects.filter(link__in=links).aggregate(n=Sum("clicks"))
    return by_link["n"] or 0, by_day["n"] or 0


def test_answers_calls_and_ages_are_counted(edges: EdgeStack) -> None:
    link, edge = made(), edges.edges[0]
    edge.metrics.start()
    try:
        before = metrics_of(edge)
        answers = [edge.ask(path).status for path in (link.slug, link.slug, "no-such-link")]
        after = metrics_of(edge)
    finally:
        edge.metrics.kill()

    answered, asked = "kvitok_edge_answers_total", "kvitok_edge_origin_seconds_count"
    assert answers == [302, 302, 404]
    assert after[f'{answered}{{status="302"}}'] - before[f'{answered}{{status="302"}}'] == 2
    assert after[f'{asked}{{call="resolve",result="200"}}'] > 0
    assert 0 <= after["kvitok_edge_replica_age_seconds"] < MAX_STALENESS
    assert after["kvitok_edge_clicks_delayed"] == 0


def metrics_of(edge: Edge) -> dict[str, float]:
    lines = requests.get(edge.metrics_url, timeout=5).text.splitlines()
    found = [line.rpartition(" ") for line in lines if not line.startswith("#")]
    return {name: float(value) for name, _, value in found}


def test_scan_by_one_visitor_ends_in_429_and_spares_known_links(edges: EdgeStack) -> None:
    link, edge = made(), edges.edges[0]
    headers = {"X-Forwarded-For": "198.51.100.1"}
    edge.ask(link.slug)

    statuses = [edge.ask(f"scan-one-{n}", **headers).status for n in range(60)]

    assert set(statuses) <= {404, 429, 503}
    assert statuses[40:] == [429] * 20
    assert edge.ask("scan-one-0", **headers).headers.get("retry-after")
    assert edge.ask(link.slug, **headers).status == 302


def test_scan_by_many_visitors_reaches_the_origin_at_a_bounded_rate(edges: EdgeStack) -> None:
    link, edge = made(), edges.edges[1]
    edge.ask(link.slug)
    began_at = time.monotonic()

    statuses = [
        edge.ask(f"scan-all-{n}", **{"X-Forwarded-For": f"198.51.100.{n % 256}"}).status
        for n in range(300)
    ]

    seconds = time.monotonic() - began_at
    with redis.Redis(port=edges.links.port) as client:
        asked = len(list(client.scan_iter("l2:scan-all-*")))
    assert set(statuses) == {404, 503}
    assert MISS_RATE <= asked <= MISS_RATE * (2 + seconds) + 1
    assert edge.ask(link.slug).status == 302


def test_stolen_edge_is_shut_out_by_its_token(edges: EdgeStack) -> None:
    edges.stack.web.kill()
    edges.stack.web.start(**edges.origin_environ | {"EDGE_TOKENS": f"e2:{'b3Kq' * 10}"})
    edge = edges.edges[0]
    try:
        wait_until(lambda: edge.checks()["origin"] == "HTTP 401", instead=edge.checks)
        assert edge.ask(made().slug).status == 503
    finally:
        edges.start_origin()
        edges.wait_whole()


def test_edge_may_write_nothing_but_clicks(edges: EdgeStack) -> None:
    url = edges.edges[0].program.environ["REDIS_URL"]

    with redis.Redis.from_url(url) as client:
        for refused in (("GET", "clicks"), ("SET", "x", "1"), ("XADD", "other", "*", "a", "b")):
            with pytest.raises(redis.exceptions.NoPermissionError):
                client.execute_command(*refused)
