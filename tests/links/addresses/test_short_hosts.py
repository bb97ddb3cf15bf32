"""The hosts of short links: the service's, and those of companies."""

from typing import Any

import pytest

from accounts.models import Company
from channels.models import Message
from links.addresses import short_hosts
from links.models import Link, ShortHost
from tests.api.clients import Api, ApiResponse
from tests.factories import CompanyFactory, LinkFactory

PHONE = "+79161234567"
URL = "https://example.com/"
HOST = "go.brand.example"


@pytest.fixture
def host(company: Company) -> ShortHost:
    return ShortHost.objects.create(host=HOST, company=company)


def shorten(api: Api, **fields: Any) -> ApiResponse:
    return api.post("/links/shorten", {"url": URL} | fields)


def test_link_is_made_under_the_requested_host(api: Api, host: ShortHost) -> None:
    response = shorten(api, host="GO.Brand.example")

    link = Link.objects.get()
    assert response.body["short_url"] == f"http://{HOST}/{link.slug}"
    assert (link.host, link.key) == (host, f"{host.pk}/{link.slug}")
    assert api.get(f"/links/{link.public_id}").body["short_url"] == response.body["short_url"]


def test_link_is_made_under_the_company_s_usual_host(api: Api, host: ShortHost) -> None:
    Company.objects.update(link_host=HOST)

    assert shorten(api).body["short_url"].startswith(f"http://{HOST}/")
    assert shorten(api, host="127.0.0.1").body["short_url"].startswith("http://127.0.0.1:8000/")
    assert shorten(api, host="127.0.0.1:8000").status == 200
    bulk = api.post("/links/bulk", {"links": [{"url": URL}]}).body["data"]
    assert bulk[0]["short_url"].startswith(f"http://{HOST}/")


@pytest.mark.parametrize("name", ["other.example", "go.stranger.example", "x y", 7])
def test_unknown_host_and_host_of_another_company_are_refused(
    api: Api, host: ShortHost, name: object
) -> None:
    ShortHost.objects.create(host="go.stranger.example", company=CompanyFactory.create())

    response = shorten(api, host=name)

    assert (response.status, list(response.body["errors"])) == (422, ["host"])
    assert not Link.objects.exists()


def test_default_host_that_changed_owner_is_ignored(api: Api) -> None:
    ShortHost.objects.create(host=HOST, company=CompanyFactory.create())
    Company.objects.filter(pk=api.company.pk).update(link_host=HOST)

    assert shorten(api).body["short_url"].startswith("http://127.0.0.1:8000/")


def test_same_alias_lives_under_each_host(api: Api, host: ShortHost) -> None:
    assert shorten(api, alias="Sale").status == 200
    assert shorten(api, alias="sale", host=HOST).status == 200
    assert shorten(api, alias="SALE", host=HOST).code == "alias_taken"
    assert sorted(Link.objects.values_list("key", flat=True)) == sorted(["sale", f"{host.pk}/sale"])


def test_reserved_words_stay_reserved_under_a_company_s_host(api: Api, host: ShortHost) -> None:
    assert list(shorten(api, alias="admin", host=HOST).body["errors"]) == ["alias"]


def test_links_are_found_by_their_names_under_every_host(api: Api, host: ShortHost) -> None:
    ours = shorten(api, alias="Sale").body
    theirs = shorten(api, alias="Sale", host=HOST).body
    other = ShortHost.objects.create(host="go.other.example", company=CompanyFactory.create())
    LinkFactory.create(company=other.company, slug="sale", key=f"{other.pk}/sale", is_alias=True)

    result = api.get("/links", {"slug": "sale"}).body["data"]

    assert {link["id"] for link in result} == {ours["id"], theirs["id"]}


def test_message_carries_the_host(api: Api, host: ShortHost) -> None:
    response = api.post(
        "/links/send", {"phone": PHONE, "url": URL, "channel": "sms", "host": HOST, "text": "Чек"}
    )

    link = Link.objects.get()
    assert response.body["short_url"] == link.short_url == f"http://{HOST}/{link.slug}"
    assert Message.objects.get().params["text"] == f"Чек {link.short_url}"


@pytest.mark.parametrize(("length", "segments"), [(40, 1), (41, 2)])
def test_parts_of_an_sms_are_counted_with_the_host(api: Api, length: int, segments: int) -> None:
    name = "a.ru.example"  # http://a.ru.example/ and a slug of ten: 30 characters of 70
    ShortHost.objects.create(host=name, company=api.company)
    text = "д" * (length - 1)  # and a space

    response = api.post(
        "/links/send", {"phone": PHONE, "url": URL, "channel": "sms", "host": name, "text": text}
    )

    assert response.body["segments"] == segments


@pytest.mark.parametrize("path", ["/links/send", "/otp/send"])
def test_whatsapp_opens_links_only_under_the_service_host(
    api: Api, host: ShortHost, path: str
) -> None:
    """Its button's address is part of the template, but for the slug."""
    Company.objects.update(link_host=HOST)

    response = api.post(path, {"phone": PHONE, "url": URL, "link": URL, "channel": "whatsapp"})
    by_sms = api.post(path, {"phone": "+79161234568", "url": URL, "link": URL, "channel": "sms"})

    assert response.body["short_url"].startswith("http://127.0.0.1:8000/")
    assert by_sms.body["short_url"].startswith(f"http://{HOST}/")


def test_requested_host_is_refused_for_whatsapp(api: Api, host: ShortHost) -> None:
    send = {"phone": PHONE, "url": URL, "host": HOST}

    response = api.post("/links/send", send | {"channel": "whatsapp"})

    assert (response.status, list(response.body["errors"])) == (422, ["host"])
    assert not Link.objects.exists()
    assert api.post("/links/send", send | {"channel": "sms"}).status == 200


def test_fallback_by_whatsapp_keeps_the_service_s_host(api: Api, host: ShortHost) -> None:
    Company.objects.update(
        link_host=HOST, default_channel="sms", falls_back=True, fallback_chain=["sms", "whatsapp"]
    )

    response = api.post("/links/send", {"phone": PHONE, "url": URL})

    assert response.body["short_url"].startswith("http://127.0.0.1:8000/")


def test_newly_added_host_is_known_at_once(company: Company) -> None:
    short_hosts.find(HOST)  # the process has read that there is none
    host = ShortHost.objects.create(host=HOST, company=company)

    assert LinkFactory.create(company=company, host=host, slug="x1").short_url.startswith(
        f"http://{HOST}/"
    )
