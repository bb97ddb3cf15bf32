"""The cabinet's link pages as the server renders them."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import AuditEvent, Company, Member
from links.models import Link
from tests.cabinet.pages import create_links
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
        ("?state=disabled", {"offoff"}),
        ("?state=expired", {"overdue"}),
        ("?search=sale-1", {"Sale-1"}),
        ("?search=SPRING", {"Sale-1"}),
        ("?search=offoff&state=active", set()),
        ("?search=foreign", set()),
        ("?batch=bat_x", set()),
        ("?state=junk", {"Sale-1", "offoff", "overdue"}),
    ],
)
def test_links_are_found(client: Client, owner: Member, query: str, found: set[str]) -> None:
    assert set(shown(client, query)) == found


@pytest.mark.usefixtures("several")
def test_link_is_found_by_its_whole_address(client: Client, owner: Member) -> None:
    link = Link.objects.get(key="sale-1")

    assert shown(client, f"?search={link.short_url}") == ["Sale-1"]


@pytest.mark.usefixtures("several")
def test_spreadsheet_has_what_is_filtered(client: Client, owner: Member) -> None:
    answer = client.get(f"{reverse('link-export')}?state=expired")

    rows = b"".join(answer.streaming_content).decode("utf-8-sig").splitlines()  # type: ignore[attr-defined]
    assert len(rows) == 2
    assert "/overdue" in rows[1]
    assert AuditEvent.objects.get(action="links.exported").company == owner.company


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, ""),
        ({"expires_at": timezone.now() - DAY}, "Срок вышел: тот, кто перейдёт"),
        ({"disabled_at": timezone.now()}, "Выключена <time"),
        ({"retired_at": timezone.now()}, "Её имя передано другой ссылке"),
    ],
)
def test_page_says_what_visitors_meet(
    client: Client, owner: Member, fields: dict[str, object], words: str
) -> None:
    body = detail(client, LinkFactory.create(company=owner.company, **fields))

    assert words in body
    assert ('class="text-secondary"' in body) == bool(words)
    is_shown = "retired_at" not in fields  # else its address is another's
    assert ("Изменить" in body, "link-code" in body) == (is_shown, is_shown)


def test_page_leads_to_the_message_it_went_out_in(client: Client, owner: Member) -> None:
    message = MessageFactory.create(company=owner.company, kind="link")
    foreign = MessageFactory.create(company=CompanyFactory.create())
    sent = LinkFactory.create(company=owner.company, message_id=message.id)
    gone = LinkFactory.create(company=owner.company, message_id=foreign.id)

    assert reverse("message-detail", args=[message.public_id]) in detail(client, sent)
    assert reverse("message-list") + "/" not in detail(client, gone)


def test_unknown_click_details_have_no_table(client: Client, owner: Member) -> None:
    create_links(owner.company)

    page = client.get(reverse("link-detail", args=[Link.objects.get(clicks=3).public_id]))

    assert [title for title, _rows in page.context["visitors"]] == [
        "Откуда пришли",
        "Устройство",
        "Страна",
    ]


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


def test_link_whose_name_was_handed_on_stays_as_it_is(client: Client, owner: Member) -> None:
    link = LinkFactory.create(company=owner.company, retired_at=timezone.now(), slug="sale")

    answer = client.post(reverse("link-disable", args=[link.public_id]), follow=True)

    assert "Имя этой ссылки" in answer.content.decode()
    assert Link.objects.get().disabled_at is None


def test_company_that_waits_for_approval_makes_none(client: Client, owner: Member) -> None:
    Company.objects.update(status="pending")

    answer = client.post(reverse("link-create"), {"url": "https://example.com/"})

    assert answer.headers["Location"] == reverse("link-list")
    assert not Link.objects.exists()


def test_downloaded_code_has_a_background(client: Client, owner: Member) -> None:
    link = LinkFactory.create(company=owner.company)

    drawn = client.get(reverse("link-qr-svg", args=[link.public_id])).content.decode()

    # The whole square, before the modules.
    assert re.search(r'<path[^>]*fill="#fff"[^>]*d="M0 0h(\d+)v\1h-\1z"/><path', drawn)


def test_short_link_stands_before_its_code(client: Client, owner: Member) -> None:
    link = LinkFactory.create(company=owner.company)

    page = detail(client, link)

    assert page.index('id="short-url"') < page.index('class="link-code"')
