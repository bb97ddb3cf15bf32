"""Settings of short links, and the defaults they give to new and edited links."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Company, Member
from links.models import BlockedHost, Link, ShortHost
from tests.factories import CompanyFactory, LinkFactory

URL, LATE, HOST = "https://example.com/", "https://example.com/late", "go.brand.example"
UTM = "utm_source=kvitok&utm_medium={channel}"
FORM = {"link_targets": "", "link_utm": "", "link_expired_url": ""}


@pytest.fixture
def host(owner: Member) -> ShortHost:
    ShortHost.objects.create(host="go.stranger.example", company=CompanyFactory.create())
    return ShortHost.objects.create(host=HOST, company=owner.company)


def save(client: Client, **fields: str) -> Any:
    return client.post(reverse("link-settings"), FORM | fields)


def test_every_setting_is_stored_in_its_one_form(
    client: Client, owner: Member, host: ShortHost
) -> None:
    response = save(
        client,
        link_host=HOST,
        link_targets="Example.com, *.сайт.рф example.com",
        link_utm=f"?{UTM}",
        link_expired_url="https://EXAMPLE.com/late",
    )

    stored = Company.objects.get(pk=owner.company.pk)
    assert response.status_code == 302
    assert (stored.link_host, stored.link_targets, stored.link_utm, stored.link_expired_url) == (
        HOST,
        ["example.com", "xn--80aswg.xn--p1ai"],
        UTM,
        LATE,
    )
    assert owner.company.audit.get().subject == (
        "link_host, link_targets, link_utm, link_expired_url"
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"link_host": "go.stranger.example"},
        {"link_host": "other.example"},
        {"link_targets": "https://example.com/"},
        {"link_targets": "example.com, localhost"},
        {"link_utm": "utm_source"},
        {"link_utm": "a={phone}"},
        {"link_expired_url": "ftp://example.com"},
        {"link_expired_url": "https://fraud.example/"},
        {"link_expired_url": URL, "link_targets": "shop.example"},
    ],
    ids=str,
)
def test_settings_refuse(
    client: Client, owner: Member, host: ShortHost, wrong: dict[str, str]
) -> None:
    BlockedHost.objects.create(host="fraud.example")

    response = save(client, **wrong)

    assert response.status_code == 200
    assert list(response.context["form"].errors) == [next(iter(wrong))]
    assert not owner.company.audit.exists()


def test_hosts_are_offered_when_there_are_any(client: Client, owner: Member) -> None:
    assert "link_host" not in client.get(reverse("link-settings")).context["form"].fields
    assert "host" not in client.get(reverse("link-create")).context["form"].fields

    ShortHost.objects.create(host="go.stranger.example", company=CompanyFactory.create())

    assert "link_host" not in client.get(reverse("link-settings")).context["form"].fields


def test_page_shows_where_a_link_would_lead(client: Client, owner: Member) -> None:
    Company.objects.update(link_utm=UTM)

    body = client.get(reverse("link-settings")).content.decode()

    assert "https://example.com/catalog?utm_source=kvitok&amp;utm_medium=sms" in body


def create(client: Client, **fields: str) -> Any:
    return client.post(reverse("link-create"), {"url": URL, "lifetime": ""} | fields)


def test_new_link_has_the_options_that_were_chosen(
    client: Client, owner: Member, host: ShortHost
) -> None:
    Company.objects.update(link_utm=UTM)

    create(client, host=HOST, is_once="on", expired_url=LATE, has_tags="on", alias="Sale")
    create(client)

    chosen, plain = Link.objects.order_by("created_at")
    assert (chosen.host, chosen.key) == (host, f"{host.pk}/sale")
    assert (chosen.is_once, chosen.expired_url, chosen.utm) == (True, LATE, UTM)
    assert (plain.host, plain.is_once, plain.expired_url, plain.utm) == (None, False, "", "")


def test_form_begins_with_the_company_s_settings(
    client: Client, owner: Member, host: ShortHost
) -> None:
    Company.objects.update(link_host=HOST, link_utm=UTM, link_expired_url=LATE)

    form = client.get(reverse("link-create")).context["form"]

    assert form["host"].value() == HOST
    assert form["expired_url"].value() == LATE
    assert form["has_tags"].value() is True


@pytest.mark.parametrize(
    "wrong",
    [{"host": "go.stranger.example"}, {"expired_url": "ftp://x.example"}, {"url": LATE}],
    ids=str,
)
def test_faulty_options_are_shown_unfolded(
    client: Client, owner: Member, host: ShortHost, wrong: dict[str, str]
) -> None:
    Company.objects.update(link_targets=["shop.example"])

    response = create(client, **({"url": "https://shop.example/"} | wrong))

    assert list(response.context["form"].errors) == list(wrong)
    assert ('<details class="mb-3" open' in response.content.decode()) is ("url" not in wrong)
    assert not Link.objects.exists()


def test_change_begins_with_what_the_link_has_and_keeps_it(client: Client, owner: Member) -> None:
    link = LinkFactory.create(company=owner.company, utm=UTM, expired_url=LATE)
    path = reverse("link-edit", args=[link.public_id])
    form = client.get(path).context["form"]
    assert (form["expired_url"].value(), form["has_tags"].value()) == (LATE, True)

    client.post(path, {"url": URL, "lifetime": "keep", "expired_url": LATE, "has_tags": "on"})
    assert not owner.company.audit.exists()
    client.post(path, {"url": URL, "lifetime": "keep", "expired_url": ""})

    link.refresh_from_db()
    assert (link.utm, link.expired_url) == ("", "")


def test_link_to_a_site_blocked_since_cannot_be_switched_on(client: Client, owner: Member) -> None:
    link = LinkFactory.create(company=owner.company, url="https://fraud.example/")
    client.post(reverse("link-disable", args=[link.public_id]))
    BlockedHost.objects.create(host="fraud.example")

    response = client.post(reverse("link-enable", args=[link.public_id]), follow=True)

    assert "Ссылки на этот сайт запрещены" in response.content.decode()
    link.refresh_from_db()
    assert link.disabled_at is not None
