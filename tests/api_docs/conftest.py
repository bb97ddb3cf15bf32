"""A reader of the documentation."""

import pytest
from django.test import Client

from accounts.models import Company, Member
from tests.factories import CompanyFactory, MemberFactory


@pytest.fixture
def reader(client: Client, db: None) -> Member:
    """A signed-in developer of a company without keys."""
    company: Company = CompanyFactory.create(name="Ромашка")
    member = MemberFactory.create(company=company, role=Member.Role.DEVELOPER)
    client.force_login(member.user)
    return member
