"""Payment providers as the tests of each of them meet them, and a company that pays."""

import pytest

from accounts.models import Company
from tests.billing.gateways.vendors import StripeVendor, TBankVendor, Vendor, YooKassaVendor
from tests.factories import CompanyFactory


@pytest.fixture(params=[StripeVendor, YooKassaVendor, TBankVendor], ids=lambda kind: kind.name)
def vendor(request: pytest.FixtureRequest) -> Vendor:
    result: Vendor = request.param()
    result.opens("pay-1")
    return result


@pytest.fixture
def payer(db: None) -> Company:
    company: Company = CompanyFactory.create()
    return company


@pytest.fixture
def stripe() -> StripeVendor:
    stripe_vendor = StripeVendor()
    stripe_vendor.opens("cs_1")
    return stripe_vendor
