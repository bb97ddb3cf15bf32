"""Fixtures that the tests of payments share: providers that answer, and a package on sale."""

from collections.abc import Iterator
from decimal import Decimal

import pytest

from billing.models import Package
from tests.billing.gateways.vendors import mocked_providers
from tests.factories import PackageFactory


@pytest.fixture
def wire(settings: object) -> Iterator[None]:
    with mocked_providers(settings):
        yield


@pytest.fixture
def package(db: None) -> Package:
    package: Package = PackageFactory.create(tokens=1000, price=Decimal("1900.00"), currency="RUB")
    return package
