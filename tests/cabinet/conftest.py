import pytest
from django.test import Client

from accounts.models import Company, Member
from tests.factories import CompanyFactory, MemberFactory
from tests.reauthentication import mark_reauthenticated


@pytest.fixture
def company(db: None) -> Company:
    return CompanyFactory.create(name="Demo")


@pytest.fixture
def owner(company: Company, client: Client) -> Member:
    """The signed-in owner of the company, who has just proved who they are."""
    member = MemberFactory.create(company=company)
    client.force_login(member.user)
    mark_reauthenticated(client, member.user)
    return member
