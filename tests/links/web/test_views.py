"""The cabinet's pages of links."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import AuditEvent, Company, Member
from links.models import BlockedHost, Link, ShortHost
from tests.cabinet.settings_page import form_of, send
from tests.factories import CompanyFactory, LinkFactory, MessageFactory

DAY = timedelta(days=1)


def shown(client: Client, query: str = "") -> list[str]:
    body = client.get(f"{reverse('link-list')}{query}").content.decode()
    return re.findall(r'class="who"><a href="[^"]+">([^<]+)<', body)


def detail(client: Client, link: Link) -> str:
    return client.get(reverse("link-detail", args=[link.public_id])).content.decode()


@pytest.fixture
def several(company: Company) -> None:
    now = timezone.now()
    LinkFactory.create(
        company=company, slug="Sale-1", is_alias=True, url="https://a.example/spring"
    )
    LinkFactory.create(company=company, slug="offoff", disabled_at=now)
    LinkFactory.create(company=company, slug="overdue", expires_at=now - DAY)
    LinkFactory.create(company=company, slug="trial", mode="test")
    LinkFactory.create(slug="foreign")


@pytest.mark.usefixtures("several")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", {"Sale-1", "offoff", "overdue"}),
        ("?mode=test", {"trial"}),
        ("?state=active", {"Sale-1"}),
        ("?state=expired", {"overdue"}),
        ("?search=sale-1", {"Sale-1"}),
        ("?search=SPRING", {"Sale-1"}),
        ("?search=offoff&state=active", set()),
        ("?search=foreign", set()),
        ("?state=junk", {"Sale-1", "offoff", "overdue"}),
    ],
)
def test_links_are_found(client: Client, owner: Member, query: str, found: set[str]) -> None:
    assert set(shown(client, query)) == found


@pytest.mark.usefixtures("several")
def test_spreadsheet_has_what_is_filtered(client: Client, owner: Member) -> None:
    response = client.get(f"{reverse('link-export')}?state=expired")

    rows = b"".join(response.streaming_content).decode("utf-8-sig").splitlines()  # type: ignore[attr-defined]
    assert len(rows) == 2
    assert "/overdue" in rows[1]
    assert AuditEvent.objects.get(action="links.exported").company == owner.company


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, ""),
        ({"expires_at": timezone.now() - DAY}, "Срок вышел: тот, кто перейдёт"),
        ({"disabled_at": timezone.now()}, "Выключена <time"),
        ({"retired_at": timezone.now()}, "Её имя передано другой ссылке"),
    ],
)
def test_page_describes_the_response_to_visitors(
    client: Client, owner: Member, fields: dict[str, object], text: str
) -> None:
    body = detail(client, LinkFactory.create(company=owner.company, **fields))

    assert text in body
    assert ('class="text-secondary"' in body) == bool(text)
    is_shown = "retired_at" not in fields  # else its address is another's
    assert ("Изменить" in body, "link-code" in body) == (is_shown, is_shown)


def test_page_leads_to_the_message_it_went_out_in(client: Client, owner: Member) -> None:
    message = MessageFactory.create(company=owner.company, kind="link")
    foreign = MessageFactory.create(company=CompanyFactory.create())
    sent = LinkFactory.create(company=owner.company, message_id=message.id)
    gone = LinkFactory.create(company=owner.company, message_id=foreign.id)

    assert reverse("message-detail", args=[message.public_id]) in detail(client, sent)
    assert reverse("message-list") + "/" not in detail(client, gone)


@pytest.mark.parametrize(
    ("chosen", "is_kept", "is_endless"),
    [("keep", True, False), ("", False, True), ("3600", False, False)],
)
def test_lifetime_is_kept_renewed_or_lifted(
    client: Client, owner: Member, chosen: str, is_kept: bool, is_endless: bool
) -> None:
    until = timezone.now() + 3 * DAY
    link = LinkFactory.create(company=owner.company, expires_at=until)

    client.post(reverse("link-edit", args=[link.public_id]), {"url": link.url, "lifetime": chosen})

    link.refresh_from_db()
    assert (link.expires_at == until) == is_kept
    assert (link.expires_at is None) == is_endless


def test_company_that_waits_for_approval_lengthens_none(client: Client, owner: Member) -> None:
    Company.objects.update(status="pending")
    link = LinkFactory.create(company=owner.company, mode="test")
    path = reverse("link-edit", args=[link.public_id])

    client.post(path, {"url": link.url, "lifetime": ""})
    refused = {"url": link.url, "lifetime": "keep", "expired_url": "https://example.com/late"}
    response = client.post(path, refused, follow=True)

    link.refresh_from_db()
    assert link.expires_at == link.created_at + timedelta(hours=1)
    assert link.expired_url == ""
    assert "когда компанию одобрят" in response.content.decode()


def test_link_is_switched_off_and_on(client: Client, owner: Member) -> None:
    link = LinkFactory.create(company=owner.company)

    client.post(reverse("link-disable", args=[link.public_id]))
    assert Link.objects.get().state == "disabled"
    client.post(reverse("link-enable", args=[link.public_id]))

    assert Link.objects.get().state == "active"
    assert [event.action for event in AuditEvent.objects.order_by("id")] == [
        "link.disabled",
        "link.changed",
    ]


def test_company_that_waits_for_approval_makes_none(client: Client, owner: Member) -> None:
    Company.objects.update(status="pending")

    response = client.post(reverse("link-create"), {"url": "https://example.com/"})

    assert response.headers["Location"] == reverse("link-list")
    assert not Link.objects.exists()


URL = "https://example.com/"
LATE = "https://example.com/late"
HOST = "go.brand.example"
UTM = "utm_source=kvitok&utm_medium={channel}"


@pytest.fixture
def host(owner: Member) -> ShortHost:
    ShortHost.objects.create(host="go.stranger.example", company=CompanyFactory.create())
    return ShortHost.objects.create(host=HOST, company=owner.company)


def test_link_settings_are_stored_normalised(
    client: Client, owner: Member, host: ShortHost
) -> None:
    fields = {
        "link_host": HOST,
        "link_targets": "Example.com, *.сайт.рф example.com",
        "link_utm": f"?{UTM}",
        "link_expired_url": "https://EXAMPLE.com/late",
    }
    response = send(client, "links", fields)

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
        {"link_targets": "example.com, localhost"},
        {"link_utm": "utm_source"},
        {"link_expired_url": URL, "link_targets": "shop.example"},
    ],
    ids=str,
)
def test_wrong_link_setting_is_refused_at_its_field(
    client: Client, owner: Member, host: ShortHost, wrong: dict[str, str]
) -> None:
    BlockedHost.objects.create(host="fraud.example")

    response = send(client, "links", wrong)

    assert response.status_code == 200
    assert list(form_of(response, "links").errors) == [next(iter(wrong))]
    assert not owner.company.audit.exists()


def create(client: Client, **fields: str) -> Any:
    return client.post(reverse("link-create"), {"url": URL, "lifetime": ""} | fields)


def test_new_link_has_the_options_that_were_chosen(
    client: Client, owner: Member, host: ShortHost
) -> None:
    Company.objects.update(link_utm=UTM)

    create(client, host=HOST, is_once="on", expired_url=LATE, has_tags="on", alias="Sale")
    create(client)
    taken = create(client, host=HOST, alias="SALE")

    chosen, plain = Link.objects.order_by("created_at")
    assert list(taken.context["form"].errors) == ["alias"]
    assert (chosen.host, chosen.key) == (host, f"{host.pk}/sale")
    assert (chosen.is_once, chosen.expired_url, chosen.utm) == (True, LATE, UTM)
    assert (plain.host, plain.is_once, plain.expired_url, plain.utm) == (None, False, "", "")


def test_link_form_shows_and_keeps_current_values(client: Client, owner: Member) -> None:
    link = LinkFactory.create(company=owner.company, utm=UTM, expired_url=LATE)
    path = reverse("link-edit", args=[link.public_id])
    form = client.get(path).context["form"]
    assert (form["expired_url"].value(), form["has_tags"].value()) == (LATE, True)

    client.post(path, {"url": URL, "lifetime": "keep", "expired_url": LATE, "has_tags": "on"})
    assert not owner.company.audit.exists()
    client.post(path, {"url": URL, "lifetime": "keep", "expired_url": ""})

    link.refresh_from_db()
    assert (link.utm, link.expired_url) == ("", "")


def test_downloaded_code_has_a_background(client: Client, owner: Member) -> None:
    link = LinkFactory.create(company=owner.company)

    drawn = client.get(reverse("link-qr-svg", args=[link.public_id])).content.decode()

    # The whole square, before the modules.
    assert re.search(r'<path[^>]*fill="#fff"[^>]*d="M0 0h(\d+)v\1h-\1z"/><path', drawn)
