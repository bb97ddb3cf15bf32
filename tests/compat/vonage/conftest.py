"""Clients with a test key and with a live key."""

import pytest

from accounts.models import Company, Mode
from tests.compat.clients import DialectClient
from tests.compat.vonage.calls import client_of


@pytest.fixture
def client(company: Company) -> DialectClient:
    return client_of(company)


@pytest.fixture
def live(company: Company) -> DialectClient:
    return client_of(company, Mode.LIVE)
