"""Links from making to expiring: tags, expired URL and opening once."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Company
from channels.models import Message
from links.manage import changes
from links.models import Link
from tests.api.clients import Api, ApiResponse
from tests.channels.fallback_stages import transfers
from tests.channels.message_stages import claim
from tests.factories import LinkFactory

PHONE = "+79161234567"
URL = "https://example.com/"
LATE = "https://example.com/late"
UTM = "utm_source=kvitok&utm_medium={channel}"


def shorten(api: Api, **fields: Any) -> ApiResponse:
    return api.post("/links/shorten", {"url": URL} | fields)


def patch(api: Api, link: Link, **fields: object) -> ApiResponse:
    return api.call("PATCH", f"/links/{link.public_id}", json.dumps(fields).encode())


@pytest.mark.parametrize(
    ("fields", "utm"), [({}, UTM), ({"utm": True}, UTM), ({"utm": None}, UTM), ({"utm": False}, "")]
)
def test_company_tags_are_copied_unless_declined(
    api: Api, fields: dict[str, Any], utm: str
) -> None:
    Company.objects.update(link_utm=UTM)

    response = shorten(api, **fields)

    link = Link.objects.get()
    assert (link.utm, link.url, response.body["url"]) == (utm, URL, URL)
    assert api.get(f"/links/{link.public_id}").body["utm"] == (utm or None)


@pytest.mark.parametrize(
    ("fields", "expired_url"),
    [({}, LATE), ({"expired_url": f"{LATE}2"}, f"{LATE}2"), ({"expired_url": ""}, "")],
)
def test_expired_link_redirects_to_its_expired_url(
    api: Api, fields: dict[str, Any], expired_url: str
) -> None:
    Company.objects.update(link_expired_url=LATE)

    shorten(api, **fields)
    api.post("/links/bulk", {"links": [{"url": URL} | fields]})
    api.post("/links/send", {"phone": PHONE, "url": URL} | fields)

    assert set(Link.objects.values_list("expired_url", flat=True)) == {expired_url}


def test_every_way_of_making_a_link_copies_the_company_s_settings(api: Api) -> None:
    Company.objects.update(link_utm=UTM, link_expired_url=LATE)

    shorten(api)
    shorten(api, reuse=True)
    api.post("/links/bulk", {"links": [{"url": URL}, {"url": URL, "reuse": True}]})
    api.post("/links/send", {"phone": PHONE, "url": URL})
    api.post("/otp/send", {"phone": PHONE, "link": URL})

    made = Link.objects.values_list("utm", "expired_url")
    assert list(made) == [(UTM, LATE)] * 5


def test_link_that_opens_once(api: Api) -> None:
    response = shorten(api, once=True, expired_url=LATE)
    api.post("/links/bulk", {"links": [{"url": URL, "once": True}]})

    assert list(Link.objects.values_list("is_once", flat=True)) == [True, True]
    Link.objects.update(used_at=timezone.now())
    shown = api.get(f"/links/{response.body['id']}").body
    assert (shown["once"], shown["state"]) == (True, "used")


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"once": "yes"}, "once"),
        ({"utm": "utm_source=x"}, "utm"),
        ({"reuse": 1}, "reuse"),
        ({"expired_url": "https://bit.ly/x"}, "expired_url"),
    ],
    ids=str,
)
def test_faulty_options_are_named(api: Api, fields: dict[str, Any], field: str) -> None:
    response = shorten(api, **fields)
    bulk = api.post("/links/bulk", {"links": [{"url": URL} | fields]}).body["data"][0]

    assert (response.status, list(response.body["errors"])) == (422, [field])
    assert list(bulk["errors"]) == [field]
    assert not Link.objects.exists()


def test_company_site_list_applies_to_every_call(api: Api) -> None:
    Company.objects.update(link_targets=["shop.example"])
    link = LinkFactory.create(company=api.company)
    other = {"phone": PHONE, "url": URL, "link": URL}

    responses = [
        api.post("/links/shorten", other),
        api.post("/links/send", other),
        api.post("/otp/send", other),
        patch(api, link, url=f"{URL}2"),
        shorten(api, url="https://shop.example/", expired_url=URL),
    ]

    assert [response.code for response in responses] == ["url_not_allowed"] * 5
    assert [next(iter(response.body["errors"])) for response in responses] == [
        "url",
        "url",
        "link",
        "url",
        "expired_url",
    ]
    assert shorten(api, url="https://www.shop.example/x").status == 200


def test_tags_and_expired_url_can_be_changed(api: Api) -> None:
    Company.objects.update(link_utm=UTM)
    link = LinkFactory.create(company=api.company)

    added = patch(api, link, utm=True, expired_url=LATE).body
    same = patch(api, link, expires_in=600).body
    removed = patch(api, link, utm=False, expired_url="").body

    assert (added["utm"], added["expired_url"]) == (UTM, LATE)
    assert (same["utm"], same["expired_url"]) == (UTM, LATE)
    assert (removed["utm"], removed["expired_url"]) == (None, None)


def _disable(api: Api, link: Link) -> None:
    assert api.call("DELETE", f"/links/{link.public_id}").status == 200


def _block_site(_api: Api, _link: Link) -> None:
    assert changes.disable_links_to("example.com", user=None) == 1


@pytest.mark.parametrize("end", [_disable, _block_site])
def test_ended_link_is_not_sent(api: Api, end: Callable[[Api, Link], None]) -> None:
    response = api.post("/links/send", {"phone": PHONE, "url": URL})
    link = Link.objects.get()

    end(api, link)

    message = Message.objects.get()
    assert (response.body["status"], message.state) == ("queued", "expired")
    assert claim() == []
    assert transfers(message) == [("hold", 1, ""), ("release", 1, "cancelled")]


def test_sent_message_of_a_disabled_link_awaits_its_receipt(api: Api) -> None:
    api.post("/links/send", {"phone": PHONE, "url": URL})
    assert len(claim()) == 1

    _disable(api, Link.objects.get())

    assert Message.objects.get().state == "queued"


def test_code_is_sent_although_its_link_is_disabled(api: Api) -> None:
    api.post("/otp/send", {"phone": PHONE, "link": URL})

    _disable(api, Link.objects.get())

    assert len(claim()) == 1


def test_link_is_not_sent_after_it_expired(api: Api) -> None:
    api.post("/links/send", {"phone": PHONE, "url": URL, "expires_in": 60})
    message = Message.objects.get()

    assert message.useful_until == Link.objects.get().expires_at
    assert message.deadline - message.created_at > timedelta(hours=1)
