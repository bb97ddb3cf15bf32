"""A client with a live key."""

import pytest

from accounts.models import Company
from tests.compat.clients import DialectClient
from tests.compat.prelude.calls import client_of


@pytest.fixture
def client(company: Company) -> DialectClient:
    return client_of(company)
