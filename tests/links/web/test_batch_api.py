"""The API's batches of links."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from accounts.models import AuditEvent, Company
from catalogue.ids import public_id, uuid7
from links.follow import cached_row, resolution
from links.manage import stopping
from links.models import Link, ShortHost, Stop
from tests.api.clients import Api, ApiResponse
from tests.factories import LinkFactory, MemberFactory

URL = "https://example.com/"


def bulk(api: Api, count: int = 2, **fields: Any) -> ApiResponse:
    items = [{"url": f"{URL}{n}"} | fields for n in range(count)]
    return api.post("/links/bulk", {"links": items})


def test_links_of_a_request_are_a_batch(api: Api) -> None:
    first, second = bulk(api).body["batch"], bulk(api, 3).body["batch"]
    LinkFactory.create(company=api.company)

    result = api.get("/links", {"batch": first}).body["data"]

    assert [link["batch"] for link in result] == [first] * 2
    assert len(api.get("/links", {"batch": second}).body["data"]) == 3
    for other in (public_id("bat", uuid7()), "bat_x", "x"):
        assert api.get("/links", {"batch": other}).body["data"] == []


def test_request_that_made_nothing_has_no_batch(api: Api) -> None:
    assert bulk(api, url="nonsense").body["batch"] is None
    bulk(api, reuse=True)
    assert bulk(api, reuse=True).body["batch"] is None


@pytest.mark.django_db(transaction=True)
def test_batch_is_stopped_and_released(api: Api) -> None:
    body = bulk(api).body
    other = bulk(api).body
    slugs = [row["slug"] for row in body["data"]]
    assert all(isinstance(resolution.resolve(slug), cached_row.LinkTarget) for slug in slugs)

    stopped = api.call("DELETE", f"/batches/{body['batch']}")

    assert stopped.body["batch"] == body["batch"]
    assert [resolution.resolve(slug) for slug in slugs] == [cached_row.GONE] * 2
    assert api.get(f"/links/{body['data'][0]['id']}").body["state"] == "disabled"
    assert api.get(f"/links/{other['data'][0]['id']}").body["state"] == "active"
    released = api.post(f"/batches/{body['batch']}/release")
    assert (released.status, released.body["batch"]) == (200, body["batch"])
    assert all(isinstance(resolution.resolve(slug), cached_row.LinkTarget) for slug in slugs)
    assert api.get(f"/links/{body['data'][0]['id']}").body["state"] == "active"


@pytest.mark.django_db(transaction=True)
def test_delayed_release_repeat_keeps_batch_stopped(api: Api) -> None:
    body = bulk(api).body
    batch = body["batch"]
    slug = body["data"][0]["slug"]
    first = api.post(f"/batches/{batch}/release", **{"Idempotency-Key": "release-1"})
    api.call("DELETE", f"/batches/{batch}")

    repeat = api.post(f"/batches/{batch}/release", **{"Idempotency-Key": "release-1"})

    assert (first.body, repeat.body) == (first.body, first.body)
    assert resolution.resolve(slug) == cached_row.GONE


def test_stop_of_a_batch_too_many_is_refused(
    api: Api, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stopping, "MAX_STOPPED_BATCHES", 0)
    client.force_login(MemberFactory.create(company=api.company).user)
    batch = bulk(api).body["batch"]

    by_api = api.call("DELETE", f"/batches/{batch}")
    page = client.post(reverse("link-batch-stop", args=[batch]), follow=True)

    assert (by_api.status, by_api.body["code"]) == (422, "invalid_input")
    assert str(stopping.TOO_MANY) in page.content.decode()
    assert not Stop.objects.exists()


def test_second_stop_and_second_release_change_nothing(api: Api) -> None:
    batch = bulk(api).body["batch"]

    for _ in range(2):
        assert api.call("DELETE", f"/batches/{batch}").status == 200
    for _ in range(2):
        assert api.post(f"/batches/{batch}/release").status == 200

    actions = AuditEvent.objects.filter(subject=batch).values_list("action", flat=True)
    assert list(actions.order_by("pk")) == ["links.stopped", "links.released"]


def states(api: Api, state: str) -> set[str]:
    return {row["id"] for row in api.get("/links", {"state": state}).body["data"]}


@pytest.mark.parametrize("is_whole_company", [False, True])
def test_lists_show_stopped_links_as_disabled(
    api: Api, client: Client, *, is_whole_company: bool
) -> None:
    batch = bulk(api).body
    alone = LinkFactory.create(company=api.company).public_id
    ids = {row["id"] for row in batch["data"]} | ({alone} if is_whole_company else set())
    batch_id = None if is_whole_company else Link.objects.exclude(batch_id=None)[0].batch_id
    Stop.objects.create(company=api.company, batch_id=batch_id)
    client.force_login(MemberFactory.create(company=api.company).user)

    assert states(api, "disabled") == ids
    assert states(api, "active") == {alone} - ids
    page = client.get(reverse("link-list"), {"state": "disabled"}).content.decode()
    assert all(id_ in page for id_ in ids)


def test_list_query_count_is_constant_for_stopped_batches(
    api: Api, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    batch = bulk(api, 1).body["batch"]
    api.call("DELETE", f"/batches/{batch}")
    bulk(api, 30)

    with django_assert_num_queries(1):
        assert len(api.get("/links").body["data"]) == 31


def cost(api: Api, items: list[dict[str, Any]]) -> int:
    with CaptureQueriesContext(connection) as asked:
        response = api.post("/links/bulk", {"links": items})

    assert all(row["success"] for row in response.body["data"])
    return len(asked)


def test_thousand_links_ask_no_more_than_ten(api: Api) -> None:
    ShortHost.objects.create(host="go.brand.example", company=api.company)
    Company.objects.update(link_utm="utm_source=kvitok", link_host="go.brand.example")

    def items(count: int, turn: str) -> list[dict[str, Any]]:
        made: list[dict[str, Any]] = [
            {"url": f"{URL}{turn}{n}", "reuse": True} for n in range(count)
        ]
        made[::2] = [{"url": URL, "alias": f"name-{turn}-{n}"} for n in range(0, count, 2)]
        return made

    bulk(api)  # the key, the hosts and the blocked sites are known

    assert cost(api, items(10, "a")) == cost(api, items(1000, "b"))
    assert Link.objects.count() == 1012


def test_path_documented_before_still_answers(api: Api) -> None:
    batch = bulk(api).body["batch"]

    stopped = api.call("DELETE", f"/links/batches/{batch}")
    released = api.post(f"/links/batches/{batch}/release")

    assert (stopped.status, stopped.body["batch"]) == (200, batch)
    assert (released.status, released.body["batch"]) == (200, batch)
