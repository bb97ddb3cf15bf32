"""Companies that pay."""

import pytest

from accounts.models import Company
from billing.models import Package
from billing.wallet import ledger
from tests.factories import CompanyFactory, MemberFactory


@pytest.fixture
def payer(db: None) -> Company:
    """A company that never had a token."""
    company: Company = CompanyFactory.create(name="Ромашка")
    return company


@pytest.fixture
def low_payer(package: Package) -> Company:
    """A company with 50 tokens left, and a package that it can buy."""
    member = MemberFactory.create()
    ledger.grant(company=member.company, amount=50, reason="test")
    company: Company = member.company
    return company
