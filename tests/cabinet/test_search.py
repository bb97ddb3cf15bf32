"""The cabinet's search: which words find which rows, and for whom."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import translation

from accounts.models import Company, Member, Mode
from cabinet import search
from tests.cabinet.pages import create_content
from tests.factories import (
    ApiKeyFactory,
    CompanyFactory,
    EndpointFactory,
    LinkFactory,
    MemberFactory,
    MessageFactory,
)

OWNER, DEVELOPER, ACCOUNTANT, VIEWER = Member.Role.values
PHONE = "+79161230089"
Query = Callable[[Company], str]


# What is typed → the page that it must lead to.
EXACT: dict[str, tuple[Query, Query]] = {
    "message": (
        lambda company: company.messages.filter(state="delivered")[0].public_id,
        lambda company: (
            f"/cabinet/messages/{company.messages.filter(state='delivered')[0].public_id}"
        ),
    ),
    "message in capitals, with spaces": (
        lambda company: f"  {company.messages.all()[0].public_id.upper()} ",
        lambda company: f"/cabinet/messages/{company.messages.all()[0].public_id}",
    ),
    "request": (
        lambda company: company.api_requests.get().request_id,
        lambda company: f"/cabinet/requests/{company.api_requests.get().request_id}",
    ),
    "link": (
        lambda company: company.links.get(clicks=3).public_id,
        lambda company: f"/cabinet/links/{company.links.get(clicks=3).public_id}",
    ),
    "slug": (
        lambda company: company.links.get(clicks=3).slug,
        lambda company: f"/cabinet/links/{company.links.get(clicks=3).public_id}",
    ),
    "short URL": (
        lambda company: company.links.get(clicks=3).short_url,
        lambda company: f"/cabinet/links/{company.links.get(clicks=3).public_id}",
    ),
    "endpoint": (
        lambda company: company.endpoints.get(disabled_at=None).public_id,
        lambda company: f"/cabinet/webhooks/{company.endpoints.get(disabled_at=None).public_id}",
    ),
    "top-up": (
        lambda company: company.orders.invoices().get().public_id,
        lambda company: f"/cabinet/balance/top-ups/{company.orders.invoices().get().public_id}",
    ),
}


@pytest.fixture
def company(db: None) -> Company:
    company: Company = CompanyFactory.create()
    create_content(company)
    return company


def enter(client: Client, company: Company, role: str = OWNER) -> Member:
    member: Member = MemberFactory.create(company=company, role=role)
    client.force_login(member.user)
    return member


def urls(member: Member, text: str) -> list[str]:
    return [hit.url for group in search.find(member, text) for hit in group.hits]


def member_of(company: Company, role: str = OWNER) -> Member:
    member: Member = MemberFactory.create(company=company, role=role)
    return member


def test_exact_hit_opens_at_once_but_not_for_strangers(client: Client, company: Company) -> None:
    enter(client, company)
    stranger = member_of(CompanyFactory.create())

    for name, (text, leads_to) in EXACT.items():
        response = client.get(reverse("search"), {"q": text(company)})
        assert (response.status_code, response.get("Location")) == (302, leads_to(company)), name
        assert urls(stranger, text(company)) == [], name


def test_phone_is_found_in_any_spelling(company: Company) -> None:
    message = MessageFactory.create(company=company, phone=PHONE)
    MessageFactory.create(phone=PHONE)  # a stranger's
    member = member_of(company)

    for spelling in (PHONE, PHONE[1:], "8 (916) 123-00-89", "916 123-00-89", "+7 916 123 00 89"):
        assert urls(member, spelling) == [
            "/cabinet/messages?mode=live&phone=%2B79161230089",
            f"/cabinet/messages/{message.public_id}",
        ], spelling


def test_phone_is_found_by_its_beginning_and_its_end(company: Company) -> None:
    wanted = [MessageFactory.create(company=company, phone=PHONE, mode=mode) for mode in Mode]
    MessageFactory.create(phone=PHONE)  # a stranger's
    MessageFactory.create(company=company, phone="+77010000001")
    pages = [f"/cabinet/messages/{message.public_id}" for message in wanted]
    member = member_of(company)

    for part in ("7916123", "+7916123", "8 916 123", "916123", "0089", "230089"):
        assert urls(member, part) == pages[::-1], part


@pytest.mark.parametrize("role", [ACCOUNTANT, VIEWER])
def test_part_of_a_masked_phone_reveals_nothing(
    client: Client, company: Company, role: str
) -> None:
    """It would reveal the masked digits one by one."""
    member = enter(client, company, role)
    parts = (PHONE[:-1], "0089", "79161")
    before = [search.find(member, part) for part in parts]
    MessageFactory.create(company=company, phone=PHONE)

    assert [search.find(member, part) for part in parts] == before
    for part in parts:
        page = client.get(reverse("search-suggestions"), {"q": part}).content.decode()
        assert "Нужен номер целиком" in page, part
        assert "messages/msg_" not in page, part


@pytest.mark.parametrize("role", [ACCOUNTANT, VIEWER])
def test_phone_stays_masked(client: Client, company: Company, role: str) -> None:
    MessageFactory.create(company=company, phone=PHONE)
    enter(client, company, role)

    body = client.get(reverse("search-suggestions"), {"q": "89161230089"}).content.decode()

    assert "+7916•••••89" in body
    assert body.count(PHONE) == 0


def test_key_is_found_by_name_beginning_end_and_whole(company: Company) -> None:
    key = ApiKeyFactory.create(company=company, name="Склад № 2")
    member = member_of(company)
    leads_to = f"/cabinet/keys#key-{key.pk}"

    assert urls(member, "склад") == [leads_to]
    assert leads_to in urls(member, key.last4)
    assert leads_to in urls(member, f"{key.prefix}…{key.last4}")
    assert leads_to in urls(member, f"{key.prefix}whatever{key.last4}")
    assert urls(member_of(company, ACCOUNTANT), "склад") == []


def test_links_are_found_by_target_host(company: Company) -> None:
    link = LinkFactory.create(company=company, url="https://shop.example.org/spring")
    LinkFactory.create(company=company, url="https://other.example/?to=shopXexample.org")
    member = member_of(company)
    leads_to = f"/cabinet/links/{link.public_id}"

    for text in ("shop.example.org", "example.org", "https://shop.example.org/anything"):
        assert urls(member, text)[-1] == leads_to
        assert urls(member, text)[0].startswith("/cabinet/links?mode=live&search=")
    assert urls(member_of(CompanyFactory.create()), "shop.example.org") == []


def test_invoice_and_document_are_found_by_number(company: Company) -> None:
    order = company.orders.invoices().get()
    document = company.documents.get()
    owner = member_of(company)

    assert reverse("balance-order", args=[order.public_id]) in urls(owner, order.number)
    assert reverse("balance-order", args=[order.public_id]) in urls(owner, f"№ {order.number}")
    assert reverse("document-list") in urls(owner, document.number)
    assert urls(member_of(company, DEVELOPER), order.number) == []
    assert urls(owner, "2026-999999999") == []


def test_colleague_is_found_by_address(company: Company) -> None:
    colleague = MemberFactory.create(company=company, user__email="anna@shop.example")
    MemberFactory.create(user__email="anna@stranger.example")

    assert urls(member_of(company), "anna@") == [reverse("member-role", args=[colleague.pk])]
    assert urls(member_of(company, VIEWER), "anna@") == [reverse("member-list")]
    assert urls(member_of(company, ACCOUNTANT), "anna@") == []


WORDS = {
    "вебхук": "webhook-list",
    "webhook": "webhook-list",
    "цены": "balance",
    "prices": "balance",
    "ЦЕНЫ": "balance",
    "лимит": "settings",
    "пароль": "account_change_password",
    "журнал": "audit-list",
}


@pytest.mark.parametrize("language", ["ru", "en"])
def test_page_is_found_by_a_word_of_either_language(company: Company, language: str) -> None:
    owner = member_of(company)

    with translation.override(language):
        found = {text: reverse(name) in urls(owner, text) for text, name in WORDS.items()}
    assert found == dict.fromkeys(WORDS, True)


def test_page_that_a_role_may_not_open_is_not_found(company: Company) -> None:
    forbidden = [
        (DEVELOPER, "цены"),
        (ACCOUNTANT, "вебхук"),
        (ACCOUNTANT, "лимит"),
        (VIEWER, "журнал"),
    ]

    for role, text in forbidden:
        assert reverse(WORDS[text]) not in urls(member_of(company, role), text), (role, text)


@pytest.mark.parametrize("role", Member.Role.values)
def test_whatever_is_found_can_be_opened(client: Client, company: Company, role: str) -> None:
    member = enter(client, company, role)
    texts = [text(company) for text, _url in EXACT.values()]
    texts += ["а", "с", "e", "i", "key", "example", "+79990000000", company.documents.get().number]

    result = {url for text in texts for url in urls(member, text)}

    assert len(result) > 5
    statuses = {url: client.get(url).status_code for url in result}
    asks_for_password = reverse("account_change_password")
    expected = {url: 302 if url == asks_for_password else 200 for url in result}
    assert statuses == expected


HOSTILE = [
    *("", "   ", "\x00", "%", "_", "'\"><script>", "msg_", "msg_" + "z" * 32, "req_" + "f" * 22),
    *("http://[", "//", "2026-", "+7", "№", "💥" * 300, "a" * 5000, "lnk_", "…", "kv_live_"),
]


def test_hostile_text_is_answered(client: Client, company: Company) -> None:
    enter(client, company)

    for text in HOSTILE:
        for name in ("search", "search-suggestions"):
            response = client.get(reverse(name), {"q": text})
            assert response.status_code == 200, text
            assert "<script>" not in response.content.decode().replace("<script src", ""), text


def test_wildcards_of_the_database_are_plain_characters(company: Company) -> None:
    EndpointFactory.create(company=company, url="https://hooks.example/100%25")

    assert urls(member_of(company), "hooks%example") == []
    assert urls(member_of(company), "hooks_example") == []


def test_search_is_a_bounded_number_of_queries(company: Company) -> None:
    member = member_of(company)
    for text in ("anna", PHONE, PHONE[:6], "shop.example.org", company.messages.all()[0].public_id):
        search.find(member, text)  # what is read once per process
        with CaptureQueriesContext(connection) as few:
            search.find(member, text)
        for _ in range(3):
            MessageFactory.create(company=company, phone=PHONE)
            LinkFactory.create(company=company, url="https://shop.example.org/")
            ApiKeyFactory.create(company=company, name="anna")
        with CaptureQueriesContext(connection) as count:
            search.find(member, text)

        assert len(few) == len(count) <= 12
