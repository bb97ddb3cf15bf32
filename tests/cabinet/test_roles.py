"""Who may open what: every role on every page, the stranger and the visitor."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Company, Member
from tests.cabinet.pages import furnish
from tests.factories import ApiKeyFactory, CompanyFactory, MemberFactory, MessageFactory

OWNER, DEVELOPER, ACCOUNTANT, VIEWER = Member.Role.values
EVERYONE = {OWNER, DEVELOPER, ACCOUNTANT, VIEWER}
MANAGERS = {OWNER, DEVELOPER}
READERS = {OWNER, DEVELOPER, VIEWER}

# (method, page) → who may; a page with "key" or "message" is opened on the company's own one
TABLE = [
    ("get", "overview", EVERYONE),
    ("get", "message-list", EVERYONE),
    ("get", "message-detail", EVERYONE),
    ("get", "message-status", EVERYONE),
    ("get", "key-list", READERS),
    ("get", "key-create", MANAGERS),
    ("post", "key-create", MANAGERS),
    ("get", "key-rotate", MANAGERS),
    ("post", "key-rotate", MANAGERS),
    ("get", "key-revoke", MANAGERS),
    ("post", "key-revoke", MANAGERS),
    ("get", "settings", READERS),
    ("post", "settings", MANAGERS),
]
OF_KEY, OF_MESSAGE = {"key-rotate", "key-revoke"}, {"message-detail", "message-status"}


def address(page: str, company: Company) -> str:
    if page in OF_KEY:
        return reverse(page, args=[company.api_keys.active().filter(expires_at=None).get().pk])
    if page in OF_MESSAGE:
        message = company.messages.filter(state="delivered").get()
        return reverse(page, args=[message.public_id])
    return reverse(page)


@pytest.mark.parametrize("role", Member.Role.values)
@pytest.mark.parametrize("case", TABLE, ids=lambda case: f"{case[0]}-{case[1]}")
def test_role_opens_its_pages(
    client: Client, company: Company, role: str, case: tuple[str, str, set[str]]
) -> None:
    method, page, allowed = case
    furnish(company)
    client.force_login(MemberFactory.create(company=company, role=role).user)

    response = getattr(client, method)(address(page, company))

    assert (response.status_code == 403) is (role not in allowed)
    assert response.status_code in {200, 302, 403}


@pytest.mark.parametrize(("method", "page", "_allowed"), TABLE)
def test_visitor_is_sent_to_sign_in(
    client: Client, company: Company, method: str, page: str, _allowed: set[str]
) -> None:
    furnish(company)

    response = getattr(client, method)(address(page, company))

    assert response.status_code == 302
    assert response.headers["Location"].startswith(reverse("account_login"))


@pytest.mark.parametrize("page", sorted(OF_KEY | OF_MESSAGE))
@pytest.mark.parametrize("method", ["get", "post"])
def test_stranger_finds_nothing(client: Client, company: Company, page: str, method: str) -> None:
    furnish(company)
    client.force_login(MemberFactory.create().user)
    expected = 403 if method == "post" and page in OF_MESSAGE else 404  # nobody posts to those

    assert getattr(client, method)(address(page, company)).status_code == expected


@pytest.mark.parametrize("role", [OWNER, DEVELOPER, ACCOUNTANT, VIEWER])
def test_balance_is_for_those_who_see_money(client: Client, company: Company, role: str) -> None:
    furnish(company)
    client.force_login(MemberFactory.create(company=company, role=role).user)

    response = client.get(reverse("overview"))

    assert (response.context["balance"] == (21, 2)) is (role != DEVELOPER)


def test_forbidden_page_says_what_to_do(client: Client, company: Company) -> None:
    client.force_login(MemberFactory.create(company=company, role=ACCOUNTANT).user)

    body = client.get(reverse("settings")).content.decode()

    assert "Ваша роль этого не позволяет" in body
    assert "бухгалтер" in body


def test_switch_changes_whose_objects_are_seen(client: Client, owner: Member) -> None:
    other = MemberFactory.create(user=owner.user).company
    mine = MessageFactory.create(company=owner.company)
    theirs = MessageFactory.create(company=other)
    client.post(reverse("company-switch"), {"company": other.pk})

    found = client.get(reverse("message-detail", args=[theirs.public_id]))
    hidden = client.get(reverse("message-detail", args=[mine.public_id]))

    assert (found.status_code, hidden.status_code) == (200, 404)


@pytest.mark.parametrize("company_id", ["0", "", "junk"])
def test_switch_to_a_company_of_others_finds_nothing(
    client: Client, owner: Member, company_id: str
) -> None:
    CompanyFactory.create()

    response = client.post(reverse("company-switch"), {"company": company_id})

    assert response.status_code == 404


def test_switcher_is_there_for_two_companies_only(client: Client, owner: Member) -> None:
    alone = client.get(reverse("overview")).content.decode()
    MemberFactory.create(user=owner.user)
    of_two = client.get(reverse("overview")).content.decode()

    assert reverse("company-switch") not in alone
    assert reverse("company-switch") in of_two


def test_membership_taken_away_closes_the_company(client: Client, owner: Member) -> None:
    ApiKeyFactory.create(company=owner.company)
    client.get(reverse("key-list"))
    owner.delete()

    response = client.get(reverse("key-list"))

    assert response.headers["Location"] == reverse("company-create")
