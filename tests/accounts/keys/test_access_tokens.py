"""Tokens in place of a key."""

from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from accounts.keys import api_keys, issued_tokens
from accounts.models import ApiKey, Company
from tests.compat.clients import client_key

pytestmark = pytest.mark.django_db


def test_token_is_valid_for_an_hour(company: Company) -> None:
    key = client_key(company)
    token = issued_tokens.issue(key.plaintext)

    issued = issued_tokens.find_issued(token)

    assert issued is not None
    assert issued.key_id == key.pk
    assert key.plaintext not in token
    with time_machine.travel(timezone.now() + timedelta(seconds=issued_tokens.LIFETIME + 2)):
        assert issued_tokens.find_issued(token) is None


def test_token_of_a_revoked_key_is_invalid(company: Company) -> None:
    key = client_key(company)
    token = issued_tokens.issue(key.plaintext)

    ApiKey.objects.filter(pk=key.pk).update(revoked_at=timezone.now())
    api_keys.clear_cache()

    assert issued_tokens.find_issued(token) is None


@pytest.mark.parametrize("changed", ["", "x", "x:y:z", "é", "A" * 9000, "::", "\0"])
def test_malformed_client_token_is_none(changed: str) -> None:
    assert issued_tokens.find_issued(changed) is None


def different_character(character: str) -> str:
    return "A" if character != "A" else "B"


def test_token_that_was_changed_is_none(company: Company) -> None:
    token = issued_tokens.issue(client_key(company).plaintext)

    for changed in (
        token[:-1] + different_character(token[-1]),
        different_character(token[0]) + token[1:],
    ):
        assert issued_tokens.find_issued(changed) is None
