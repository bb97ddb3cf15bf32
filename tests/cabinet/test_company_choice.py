"""Forms change the company that they were opened for, whatever other tabs do in the meantime."""

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from accounts.models import Company, Invitation, Member
from accounts.people import members
from accounts.security.reauthentication import DRAFT
from tests.cabinet.pages import create_content
from tests.cabinet.routes import CABINET, NOBODY, address
from tests.factories import ApiKeyFactory, MemberFactory

pytestmark = pytest.mark.django_db
CHANGING = [name for name, route in CABINET.items() if route.change != NOBODY]
KEY = {"name": "backend", "mode": "test", "scopes": ["otp"]}


@pytest.fixture
def first() -> Member:
    return MemberFactory.create(role=Member.Role.OWNER)


@pytest.fixture
def second(first: Member) -> Member:
    return MemberFactory.create(role=Member.Role.OWNER, user=first.user)


@pytest.fixture
def tab(first: Member, second: Member) -> Client:
    """A browser that enforces CSRF tokens, with a page of the first company open."""
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(first.user)
    browser.get(reverse("key-create"))
    return browser


def token(browser: Client) -> str:
    return browser.cookies[settings.CSRF_COOKIE_NAME].value


def switch(browser: Client, company: Company) -> None:
    """Switches the company, like another tab."""
    form = {"company": company.pk, "csrfmiddlewaretoken": token(browser)}
    assert browser.post(reverse("company-switch"), form).status_code == 302


def test_forms_of_the_previous_company_are_refused(tab: Client, second: Member) -> None:
    create_content(second.company)
    opened = token(tab)
    switch(tab, second.company)

    seen = {
        name: tab.post(address(name, second.company), {"csrfmiddlewaretoken": opened}).status_code
        for name in CHANGING
    }

    assert len(CHANGING) > 40
    assert seen == dict.fromkeys(CHANGING, 403)


def test_form_opened_since_then_is_accepted(tab: Client, second: Member) -> None:
    switch(tab, second.company)
    tab.get(reverse("key-create"))

    tab.post(reverse("key-create"), KEY | {"csrfmiddlewaretoken": token(tab)})

    assert second.company.api_keys.get().name == "backend"


def test_choosing_the_same_company_again_invalidates_nothing(tab: Client, first: Member) -> None:
    opened = token(tab)
    switch(tab, first.company)

    tab.post(reverse("key-create"), KEY | {"csrfmiddlewaretoken": opened})

    assert first.company.api_keys.get().name == "backend"


@pytest.mark.parametrize("looks_round", [False, True])
def test_form_of_left_company_changes_no_other_company(
    tab: Client, first: Member, second: Member, *, looks_round: bool
) -> None:
    opened = token(tab)
    first.delete()
    if looks_round:  # in another tab, which shows the other company now
        assert tab.get(reverse("member-list")).url == reverse("overview")  # type: ignore[attr-defined]

    response = tab.post(reverse("key-create"), KEY | {"csrfmiddlewaretoken": opened})

    assert response.status_code == (403 if looks_round else 302)
    assert not second.company.api_keys.exists()


def test_page_says_that_a_company_was_left(tab: Client, first: Member, second: Member) -> None:
    first.delete()

    response = tab.get(reverse("key-list"), follow=True)

    assert second.company.name in response.context["messages"]._loaded_data[0].message


def test_joining_invalidates_forms_of_the_previous_company(tab: Client, first: Member) -> None:
    owner = MemberFactory.create(role=Member.Role.OWNER)
    invitation = Invitation.objects.create(
        company=owner.company, email=first.user.email, role="owner", invited_by=owner.user
    )
    opened = token(tab)
    page = reverse("invitation-join", args=[members.token(invitation)])
    tab.post(page, {"csrfmiddlewaretoken": opened})

    response = tab.post(reverse("key-create"), KEY | {"csrfmiddlewaretoken": opened})

    assert response.status_code == 403
    assert owner.company.members.count() == 2


def test_draft_that_waits_for_reauthentication_is_dropped(tab: Client, second: Member) -> None:
    """It would be filled into the form of the other company."""
    live = KEY | {"mode": "live", "csrfmiddlewaretoken": token(tab)}
    tab.post(reverse("key-create"), live)
    assert DRAFT in tab.session

    switch(tab, second.company)

    assert DRAFT not in tab.session


def test_member_of_one_company_has_nothing_chosen(client: Client) -> None:
    key = ApiKeyFactory.create()
    client.force_login(MemberFactory.create(company=key.company).user)

    client.get(reverse("overview"))

    assert "company" not in client.session
