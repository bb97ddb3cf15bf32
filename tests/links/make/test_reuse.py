"""An equal request for a link returns the link that exists."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Company
from links.addresses.slugs import generate
from links.models import Link, ShortHost, Stop
from tests.api.clients import Api, ApiResponse, ClientOf
from tests.api.races import at_once
from tests.factories import CompanyFactory, LinkFactory

URL = "https://example.com/"


def shorten(api: Api, **fields: Any) -> ApiResponse:
    return api.post("/links/shorten", {"url": URL, "reuse": True} | fields)


def test_equal_request_reuses_the_link(api: Api) -> None:
    first = shorten(api, expires_in=600)
    again = shorten(api, expires_in=600)

    assert (first.body["reused"], again.body["reused"]) == (False, True)
    assert 590 <= again.body.pop("expires_in") <= first.body.pop("expires_in")
    assert again.body | {"reused": False} == first.body
    assert Link.objects.count() == 1


def test_reused_link_reports_its_remaining_lifetime(api: Api) -> None:
    fields = {"url": URL, "reuse": True, "expires_in": 3600}
    assert shorten(api, expires_in=3600).body["expires_in"] == 3600
    Link.objects.update(expires_at=timezone.now() + timedelta(seconds=100))

    row = shorten(api, expires_in=3600).body
    count = api.post("/links/bulk", {"links": [fields]}).body["data"][0]

    assert (row["reused"], count["reused"]) == (True, True)
    assert 90 <= count["expires_in"] <= row["expires_in"] <= 100


def test_request_without_reuse_makes_a_new_link(api: Api) -> None:
    shorten(api)

    assert shorten(api, reuse=False).body["reused"] is False
    assert shorten(api, reuse=None).body["reused"] is False
    assert Link.objects.count() == 3
    assert Link.objects.exclude(reuse_key=None).count() == 1


@pytest.mark.parametrize(
    "other",
    [
        {"url": "https://example.com/2"},
        {"expires_in": 600},
        {"expired_url": "https://example.com/late"},
        {"utm": False},
        {"host": "go.brand.example"},
    ],
    ids=str,
)
def test_different_request_makes_another_link(api: Api, other: dict[str, Any]) -> None:
    Company.objects.update(link_utm="utm_source=kvitok")
    ShortHost.objects.create(host="go.brand.example", company=api.company)
    shorten(api)

    assert shorten(api, **other).body["reused"] is False
    assert shorten(api, **other).body["reused"] is True
    assert Link.objects.count() == 2


def test_reuse_is_per_company_and_mode(api: Api, test_api: Api, client_of: ClientOf) -> None:
    stranger = client_of(CompanyFactory.create())

    made = [shorten(client).body["reused"] for client in (api, test_api, stranger)]

    assert made == [False] * 3


@pytest.mark.parametrize(
    "end",
    [{"disabled_at": timezone.now()}, {"expires_at": timezone.now() - timedelta(seconds=1)}],
    ids=["disabled", "expired"],
)
def test_dead_link_is_not_reused(api: Api, end: dict[str, Any]) -> None:
    shorten(api)
    Link.objects.update(**end)

    assert [shorten(api).body["reused"] for _ in range(2)] == [False, True]
    assert Link.objects.exclude(reuse_key=None).count() == 1


def test_link_of_a_stopped_batch_is_not_reused(api: Api) -> None:
    batch = api.post("/links/bulk", {"links": [{"url": URL, "reuse": True}]}).body["batch"]
    api.call("DELETE", f"/batches/{batch}")

    assert shorten(api).body["reused"] is False
    assert Stop.objects.count() == 1


def test_changed_link_is_not_reused(api: Api) -> None:
    made = shorten(api).body["id"]
    api.call("PATCH", f"/links/{made}", b'{"url": "https://example.com/moved"}')

    assert shorten(api).body["reused"] is False


def test_reenabled_link_is_reused(api: Api) -> None:
    made = shorten(api).body["id"]
    api.call("PATCH", f"/links/{made}", b'{"enabled": false}')
    api.call("PATCH", f"/links/{made}", b'{"enabled": true}')

    assert shorten(api).body["id"] == made


@pytest.mark.parametrize("fields", [{"alias": "sale"}, {"once": True}], ids=str)
def test_alias_and_one_time_links_refuse_reuse(api: Api, fields: dict[str, Any]) -> None:
    response = shorten(api, **fields)

    assert (response.status, list(response.body["errors"])) == (422, ["reuse"])
    assert not Link.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_concurrent_requests_make_one_link(api: Api) -> None:
    responses = at_once([lambda: shorten(api)] * 20)

    assert [response.status for response in responses] == [200] * 20
    assert sorted(response.body["reused"] for response in responses) == [False] + [True] * 19
    assert len({response.body["id"] for response in responses}) == 1
    assert Link.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_concurrent_requests_replace_a_dead_link_once(api: Api) -> None:
    shorten(api)
    Link.objects.update(disabled_at=timezone.now())

    responses = at_once([lambda: shorten(api)] * 20)

    assert sorted(response.body["reused"] for response in responses) == [False] + [True] * 19
    assert Link.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_concurrent_batches_in_any_order_share_links(api: Api) -> None:
    items = [{"url": f"{URL}{n}", "reuse": True} for n in range(40)]

    responses = at_once(
        [lambda: api.post("/links/bulk", {"links": items})] * 3
        + [lambda: api.post("/links/bulk", {"links": items[::-1]})] * 3
    )

    assert [response.status for response in responses] == [200] * 6
    made = [row for response in responses for row in response.body["data"]]
    assert sum(not link["reused"] for link in made) == 40
    assert len({link["id"] for link in made}) == Link.objects.count() == 40


def test_equal_items_of_a_batch_share_one_link(api: Api) -> None:
    data = api.post("/links/bulk", {"links": [{"url": URL, "reuse": True}] * 3}).body["data"]

    assert [row["reused"] for row in data] == [False, True, True]
    assert len({row["id"] for row in data}) == Link.objects.count() == 1


def test_taken_slug_is_generated_again(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    LinkFactory.create(slug="bcdfghjk")
    drawn = iter(["bcdfghjk"])
    monkeypatch.setattr(
        "links.addresses.slugs.generate", lambda length: next(drawn, generate(length))
    )

    assert shorten(api).body["reused"] is False
    assert Link.objects.count() == 2
