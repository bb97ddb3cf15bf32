import pytest

from accounts.models import Company
from tests.factories import CompanyFactory


@pytest.fixture
def company(db: None) -> Company:
    """Without tokens."""
    return CompanyFactory.create(name="Demo")
