"""A user for the tests of accounts."""

import pytest

from accounts.models import User
from tests.accounts.security.people import make_person


@pytest.fixture
def user() -> User:
    return make_person()
