"""A company that pays."""

import pytest

from accounts.models import Company
from tests.factories import CompanyFactory


@pytest.fixture
def payer(db: None) -> Company:
    """A company that never had a token."""
    company: Company = CompanyFactory.create(name="Ромашка")
    return company
