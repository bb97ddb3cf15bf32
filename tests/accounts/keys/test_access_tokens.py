"""Tokens in place of a key."""

from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from accounts.keys import access_tokens, api_keys
from accounts.models import ApiKey, Company
from tests.compat.clients import client_key

pytestmark = pytest.mark.django_db


def test_token_is_its_keys_for_an_hour(company: Company) -> None:
    key = client_key(company)
    token = access_tokens.issue(key.plaintext)

    found = access_tokens.find(token)

    assert found is not None
    assert found.key_id == key.pk
    assert key.plaintext not in token
    with time_machine.travel(timezone.now() + timedelta(seconds=access_tokens.LIFETIME + 2)):
        assert access_tokens.find(token) is None


def test_token_of_a_revoked_key_is_worth_nothing(company: Company) -> None:
    key = client_key(company)
    token = access_tokens.issue(key.plaintext)

    ApiKey.objects.filter(pk=key.pk).update(revoked_at=timezone.now())
    api_keys.clear_cache()

    assert access_tokens.find(token) is None


@pytest.mark.parametrize("changed", ["", "x", "x:y:z", "é", "A" * 9000, "::", "\0"])
def test_what_is_no_token_is_none(changed: str) -> None:
    assert access_tokens.find(changed) is None


def test_token_that_was_changed_is_none(company: Company) -> None:
    token = access_tokens.issue(client_key(company).plaintext)

    assert access_tokens.find(token[:-1] + ("A" if token[-1] != "A" else "B")) is None
    assert access_tokens.find("A" + token[1:]) is None
