import pytest
from django.test import Client

from accounts.models import User
from tests.operator_admin.operators import make_operator, sign_in


@pytest.fixture
def operator(client: Client, db: None) -> User:
    user = make_operator()
    sign_in(client, user, "password", "mfa")
    return user


@pytest.fixture
def english_operator(operator: User) -> User:
    User.objects.filter(pk=operator.pk).update(language="en")
    return operator
