"""An invoice that waits for its bank transfer, and the operator who confirms transfers."""

import pytest

from accounts.models import User
from billing.models import Order
from tests.billing.top_ups import place_order
from tests.factories import CompanyFactory, SellerFactory, UserFactory


@pytest.fixture
def invoice(db: None) -> Order:
    SellerFactory.create()
    return place_order(CompanyFactory.create(), "invoice")


@pytest.fixture
def operator(db: None) -> User:
    user: User = UserFactory.create(is_staff=True, is_superuser=True)
    return user
