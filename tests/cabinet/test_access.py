"""Which roles open which pages, and which company a person sees."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoDbBlocker

from accounts.models import AuditEvent, Company, Member, User
from accounts.security import change_limit
from tests.cabinet.pages import create_content
from tests.cabinet.routes import CABINET, NOBODY, PERSON, TABLES, address, names
from tests.factories import CompanyFactory, MemberFactory, MessageFactory
from tests.reauthentication import mark_reauthenticated

CASES = [
    pytest.param(method, name, id=f"{method}-{name}")
    for name in CABINET
    for method in ("get", "post")
]
OWNER, DEVELOPER, ACCOUNTANT, VIEWER = Member.Role.values
VISITOR = "visitor"
STRANGER = "owner of another company"
OPENED = "opened"
NOT_ALLOWED = "not allowed"
NOT_THERE = "not there"
NO_METHOD = "no such method"
WORDS = {200: OPENED, 204: OPENED, 302: OPENED, 403: NOT_ALLOWED, 404: NOT_THERE, 405: NO_METHOD}


@dataclass(frozen=True)
class Place:
    company: Company
    people: dict[str, User | None]  # by role


@pytest.fixture(scope="module")
def content(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Place]:
    """A company with everything, shared by all tests: each undoes the changes of its request."""
    with django_db_blocker.unblock(), transaction.atomic():
        company = CompanyFactory.create()
        create_content(company)
        people: dict[str, User | None] = {
            role: MemberFactory.create(company=company, role=role).user
            for role in Member.Role.values
        }
        people |= {VISITOR: None, STRANGER: MemberFactory.create().user}
        yield Place(company, people)
        transaction.set_rollback(True)


@pytest.fixture
def place(content: Place, db: None) -> Place:
    return content


def test_every_route_is_in_one_table() -> None:
    listed = [name for table in TABLES for name in table]

    assert set(listed) == names()
    assert len(listed) == len(set(listed))


def reaction(user: User | None, method: str, path: str) -> str:
    """The response to one request; its changes are undone."""
    client = Client()
    if user:
        client.force_login(user)
    with transaction.atomic():
        response: Any = getattr(client, method)(path)
        transaction.set_rollback(True)
    if response.status_code == 302 and response["Location"].startswith(reverse("account_login")):
        return "sent to sign in"
    return WORDS.get(response.status_code, str(response.status_code))


@pytest.mark.parametrize(("method", "name"), CASES)
def test_page_opens_only_for_its_roles(place: Place, method: str, name: str) -> None:
    route = CABINET[name]
    path = address(name, place.company)
    roles = route.read if method == "get" else route.change

    seen = {who: reaction(user, method, path) for who, user in place.people.items()}
    visitor = seen.pop(VISITOR)
    stranger = seen.pop(STRANGER)

    if roles == NOBODY:
        assert {*seen.values(), stranger} == {NO_METHOD}
        assert visitor in {"sent to sign in", NO_METHOD}
    else:
        assert seen == {role: OPENED if role in roles else NOT_ALLOWED for role in seen}
        assert visitor == "sent to sign in"
        assert stranger == (NOT_THERE if route.of and not route.is_shared else stranger)


@pytest.mark.django_db
@pytest.mark.parametrize("name", sorted(PERSON - {"account_logout"}))
def test_own_account_asks_to_sign_in(name: str) -> None:
    assert reaction(None, "get", reverse(name)) in {"sent to sign in", NO_METHOD}


@pytest.mark.parametrize("role", [OWNER, DEVELOPER, ACCOUNTANT, VIEWER])
def test_balance_is_shown_only_to_billing_roles(
    client: Client, company: Company, role: str
) -> None:
    create_content(company)
    client.force_login(MemberFactory.create(company=company, role=role).user)

    response = client.get(reverse("overview"))

    assert (response.context["balance"] == (21, 2)) is (role != DEVELOPER)


def test_switch_changes_the_visible_company(client: Client, owner: Member) -> None:
    other = MemberFactory.create(user=owner.user).company
    mine = MessageFactory.create(company=owner.company)
    theirs = MessageFactory.create(company=other)
    client.post(reverse("company-switch"), {"company": other.pk})

    result = client.get(reverse("message-detail", args=[theirs.public_id]))
    hidden = client.get(reverse("message-detail", args=[mine.public_id]))

    assert (result.status_code, hidden.status_code) == (200, 404)


@pytest.mark.parametrize("company_id", ["0", "", "junk"])
def test_switch_to_a_company_of_others_finds_nothing(
    client: Client, owner: Member, company_id: str
) -> None:
    CompanyFactory.create()

    response = client.post(reverse("company-switch"), {"company": company_id})

    assert response.status_code == 404


def test_changes_by_a_person_are_limited(
    client: Client, owner: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fifty a second are possible, each with an audit event that is kept for ever."""
    monkeypatch.setattr(change_limit, "CHANGES", ((3, 600),))

    levels = [{"low_balance": number} for number in range(101, 106)]
    statuses = [client.post(reverse("balance-alert"), level).status_code for level in levels]

    assert statuses == [302, 302, 302, 429, 429]
    assert client.get(reverse("balance")).status_code == 200
    assert owner.company.audit.count() == 3


def test_changes_in_a_day_are_limited_too(client: Client, owner: Member) -> None:
    """A thousand changes of long settings every ten minutes are a gigabyte a day."""
    (_most, shorter), (daily, day) = change_limit.CHANGES

    assert (shorter, day) == (600, 86_400)
    assert daily <= 5000


def test_no_page_records_events_over_the_limit(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Downloads are recorded as well, and cost anybody who signed up nothing."""
    client = Client()
    owner = place.people[OWNER]
    assert owner is not None
    client.force_login(owner)
    mark_reauthenticated(client, owner)
    monkeypatch.setattr(change_limit, "CHANGES", ((0, 600),))
    before = AuditEvent.objects.count()
    recording: set[str] = set()

    for name, route in CABINET.items():
        if OWNER in route.read:
            client.get(address(name, place.company))
            if AuditEvent.objects.count() > before + len(recording):
                recording.add(name)
    client.post(reverse("session-end-others"))
    assert client.post(reverse("profile"), {"language": "en"}).status_code == 429

    assert recording == set()
    assert AuditEvent.objects.count() == before
