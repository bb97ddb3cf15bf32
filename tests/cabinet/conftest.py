"""A company for the tests of the cabinet."""

import pytest

from accounts.models import Company
from tests.factories import CompanyFactory


@pytest.fixture
def company(db: None) -> Company:
    """A company without tokens."""
    return CompanyFactory.create(name="Demo")
