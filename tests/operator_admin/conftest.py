"""Operators who are signed in, and requests of theirs."""

import pytest
from django.http import HttpRequest
from django.test import Client, RequestFactory

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


@pytest.fixture
def request_of_operator(rf: RequestFactory) -> HttpRequest:
    request = rf.get("/")
    request.user = make_operator()
    return request
