"""Every page of the cabinet opens, for members and for visitors."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from django.conf import settings as configured
from django.db import OperationalError
from django.forms import BaseForm
from django.test import Client
from django.urls import reverse

from accounts.models import Company, Member
from otp.models import GuardRestriction
from tests.api.races import at_once
from tests.cabinet.missing_variables import show_missing_variables
from tests.cabinet.pages import ANONYMOUS, addresses, create_content
from tests.factories import CompanyFactory, MemberFactory, UserFactory

INLINE = re.compile(
    r"<style|\sstyle=|<script(?![^>]*\ssrc=)|\son[a-z]+=|javascript:", re.IGNORECASE
)
FIRST_HEADING = re.compile(r"<thead[^>]*>\s*<tr>\s*<th[^>]*>(.*?)</th>", re.S)
TABS = re.compile(r'<a class="nav-link[^>]*>(.*?)</a>', re.S)
LINK = re.compile(r'<a [^>]*href="(/(?:cabinet|account)/[^"#]*)')
NOT_PROSE = re.compile(r"<(head|script|style|svg|pre|textarea)\b.*?</\1>", re.S)
QUOTE = re.compile(r'<(?!html)(\w+)\b[^>]* lang="[^"]*"[^>]*>.*?</\1>', re.S)  # French: "Code :"
IN_A_LINE = re.compile(r"</?(?:a|b|code|em|kbd|small|span|strong)\b[^>]*>")
# What a break in a template leaves between words, and a value that nothing made a text of.
MISPRINT = re.compile(
    r".{0,40}(?:\w [,.;:!?)»](?=\s|$)|[(«] \w|^(?:None|True|False)$).{0,20}", re.M
)
SPACE_INSIDE = re.compile(r"<(?:a|code|kbd)\b[^>]*>\s+\w[^<]*|\w\s+</(?:a|code|kbd)>")


@pytest.fixture(autouse=True, scope="module")
def _missing_variables() -> Iterator[None]:
    """A variable that no view provides shows itself instead of being empty."""
    with show_missing_variables():
        yield


def check(response: Any, language: str) -> None:
    body = response.content.decode()
    assert response.status_code == 200
    assert "missing:" not in body
    assert INLINE.findall(without_data(body)) == []
    if "<html" in body:
        assert f'<html lang="{language}"' in body
        assert "default-src 'self'" in response.headers["Content-Security-Policy"]


def without_data(body: str) -> str:
    """The page without script elements that contain data, which the policy does not concern."""
    return re.sub(r'<script[^>]*type="application/json".*?</script>', "", body, flags=re.DOTALL)


def in_language(client: Client, language: str) -> None:
    client.cookies[configured.LANGUAGE_COOKIE_NAME] = language


@pytest.mark.parametrize("language", ["ru", "en"])
def test_pages_of_a_member_pass_the_checks(client: Client, owner: Member, language: str) -> None:
    create_content(owner.company)
    in_language(client, language)
    tables = [f"{reverse('overview')}?by={by}" for by in ("country", "purpose", "api_key")]
    faults: list[str] = []
    links: dict[str, str] = {}

    for address in (pages := [*addresses(owner.company), *tables]):
        response = client.get(address)
        check(response, language)
        body = response.content.decode(errors="replace")
        faults += [f"{address}: {fault}" for fault in markup_faults(body)]
        form = (response.context or {}).get("form")
        fields = form.fields if isinstance(form, BaseForm) else ()
        faults += [
            f"{address} leaves out {name}" for name in fields if f'name="{name}"' not in body
        ]
        links |= {link.partition("?")[0]: unescape(link) for link in LINK.findall(body)}

    assert faults == []
    if language == "ru":
        others = [link for path, link in links.items() if path not in pages]
        assert [link for link in others if client.get(link).status_code >= 400] == []


def markup_faults(body: str) -> Iterator[str]:
    headings = texts(FIRST_HEADING, body)
    if "" in headings or headings & texts(TABS, body):
        yield "a table's first heading is empty, or the title of the tab that chose it"
    names = re.findall(r'<nav[^>]*aria-label="([^"]*)"', body)
    if len(names) != len(set(names)):
        yield f"two navigations have one name: {names}"
    yield from misprints(body)
    for field in re.findall(r"<(?:input|textarea)[^>]* maxlength=[^>]*>", body):
        if 'name="q"' not in field:  # a search leads nowhere
            yield f"a browser cuts what is pasted, in silence: {field}"


def misprints(body: str) -> list[str]:
    prose = QUOTE.sub("▢", NOT_PROSE.sub("▢", body))
    lines = re.sub(r"<[^>]*>", "\n", IN_A_LINE.sub("", re.sub(r"\s+", " ", prose)))
    text = "\n".join(line.strip() for line in unescape(lines).split("\n"))
    return MISPRINT.findall(text) + SPACE_INSIDE.findall(prose)


@pytest.mark.parametrize(
    "markup",
    [
        "<p>Нажмите <a>сюда</a> , и</p>",
        "<p>Состояние:\n  <b>да</b>\n  ;</p>",
        "<p>(\n<code>id</code>)</p>",
        "<td>None</td>",
        '<div class="invalid-feedback">\n <div>None</div></div>',
        "<a href='/'>\n  Назад</a>",
        "<code>id </code>",
    ],
)
def test_misprints_are_seen(markup: str) -> None:
    assert misprints(markup)


def texts(pattern: re.Pattern[str], body: str) -> set[str]:
    return {re.sub(r"<[^>]*>", "", match).strip() for match in pattern.findall(body)}


@pytest.mark.django_db
@pytest.mark.parametrize("language", ["ru", "en"])
@pytest.mark.parametrize("name", ANONYMOUS)
def test_pages_of_a_visitor_pass_the_checks(client: Client, name: str, language: str) -> None:
    in_language(client, language)

    check(client.get(reverse(name)), language)


@pytest.mark.parametrize("name", ["key-create", "key-rotate"])
def test_page_that_shows_a_key(client: Client, owner: Member, name: str) -> None:
    create_content(owner.company)
    key = owner.company.api_keys.active().filter(expires_at=None).get()
    form = {"name": "Site", "mode": "test", "scopes": ["otp"]}

    response = client.post(reverse(name, args=[key.pk] if name == "key-rotate" else []), form)

    check(response, "ru")


def test_user_without_a_company_is_led_to_create_one(client: Client, db: None) -> None:
    client.force_login(UserFactory.create())

    response = client.get(reverse("overview"), follow=True)

    assert response.redirect_chain == [(reverse("company-create"), 302)]
    check(response, "ru")


def test_somebody_without_a_company_creates_one(client: Client, db: None) -> None:
    user = UserFactory.create()
    client.force_login(user)

    response = client.post(reverse("company-create"), {"company": "Mine", "country": "KZ"})

    member = user.memberships.select_related("company").get()
    assert response.headers["Location"] == reverse("overview")
    assert (member.company.name, member.role) == ("Mine", Member.Role.OWNER)
    assert (member.company.country, member.company.language) == ("KZ", "ru")


@pytest.mark.parametrize("status", ["pending", "suspended"])
def test_company_that_cannot_send_sees_the_reason(client: Client, db: None, status: str) -> None:
    member = MemberFactory.create(company=CompanyFactory.create(status=status))
    client.force_login(member.user)

    response = client.get(reverse("overview"))

    check(response, "ru")
    assert 'role="note"' in response.content.decode()


def test_csrf_failure_is_explained(company: Company) -> None:
    client = Client(enforce_csrf_checks=True)

    response = client.post(reverse("account_login"), {"login": "a@example.com"})

    assert response.status_code == 403
    assert "Форма устарела" in response.content.decode()


def test_crash_shows_a_page(client: Client, owner: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("billing.wallet.ledger.balance", lambda company_id: 1 // 0)
    client.raise_request_exception = False

    response = client.get(reverse("overview"))

    assert response.status_code == 500
    assert "У нас что-то сломалось" in response.content.decode()


@pytest.mark.parametrize("language", ["ru", "en"])
def test_database_timeout_shows_the_unavailable_page(
    client: Client, owner: Member, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    def silent(company_id: int) -> None:
        raise OperationalError("the connection is lost")

    in_language(client, language)
    monkeypatch.setattr("billing.wallet.ledger.balance", silent)

    response = client.get(reverse("overview"))

    body = response.content.decode()
    assert (response.status_code, response.headers["Retry-After"]) == (503, "5")
    assert f'<html lang="{language}"' in body
    assert INLINE.findall(body) == []


def ways_out(body: str) -> tuple[set[str], set[str]]:
    """The targets of the links over the heading, and of those next to the button."""
    back = re.findall(r'<p class="back"><a href="([^"]+)"', body)
    return set(back), set(re.findall(r'<a class="btn btn-link" href="([^"]+)"', body))


def test_confirmations_lead_back_where_canceling_does(client: Client, owner: Member) -> None:
    create_content(owner.company)
    asked = re.compile("/(rotate|revoke|disable|delete|remove|cancel|stop|lift)$")
    held = GuardRestriction.objects.filter(company=owner.company).first()
    lift = reverse("protection-lift", args=[held.pk]) if held else ""
    pages = [*addresses(owner.company), reverse("company-delete"), lift]

    result = {
        page: ways_out(client.get(page).content.decode()) for page in filter(asked.search, pages)
    }

    assert len(result) > 10
    assert lift in result
    assert {page: back for page, (back, _) in result.items() if len(back) != 1} == {}
    assert {page: cancel for page, (back, cancel) in result.items() if cancel - back} == {}


@pytest.mark.django_db(transaction=True)
def test_two_clicks_create_one_company() -> None:
    user = UserFactory.create()

    def create() -> None:
        client = Client()
        client.force_login(user)
        client.post(reverse("company-create"), {"company": "Mine", "country": "KZ"})

    at_once([create] * 4)

    assert user.memberships.count() == 1
