"""What a role sees, and for which company it acts. Access by page: `test_access.py`."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Company, Member
from tests.cabinet.pages import create_content
from tests.factories import CompanyFactory, MemberFactory, MessageFactory

OWNER, DEVELOPER, ACCOUNTANT, VIEWER = Member.Role.values


@pytest.mark.parametrize("role", [OWNER, DEVELOPER, ACCOUNTANT, VIEWER])
def test_balance_is_for_those_who_see_money(client: Client, company: Company, role: str) -> None:
    create_content(company)
    client.force_login(MemberFactory.create(company=company, role=role).user)

    response = client.get(reverse("overview"))

    assert (response.context["balance"] == (21, 2)) is (role != DEVELOPER)


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
