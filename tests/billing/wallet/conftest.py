"""An owner of a company without tokens."""

import pytest

from accounts.models import Member
from tests.factories import CompanyFactory, MemberFactory


@pytest.fixture
def owner(db: None) -> Member:
    """An owner who is not signed in, of a company without tokens."""
    member: Member = MemberFactory.create(company=CompanyFactory.create(name="Ромашка"))
    return member
