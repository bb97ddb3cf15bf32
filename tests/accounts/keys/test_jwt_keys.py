"""Tokens that a client signs itself: only the key's own public key verifies them."""

import base64
import json
import math
import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from django.core.exceptions import ValidationError
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.keys import api_keys, signed_tokens
from accounts.models import ApiKey, Company
from tests.accounts.keys.jwt_clients import claims_of, private_key, public_pem, token_of
from tests.compat.clients import client_key
from tests.factories import CompanyFactory, IssuedKey

pytestmark = pytest.mark.django_db


@pytest.fixture
def key(company: Company) -> IssuedKey:
    return client_key(company, public_key=public_pem(private_key()))


def test_token_signed_with_the_private_key_is_accepted(key: IssuedKey) -> None:
    signed = signed_tokens.find_signed(token_of(key))

    assert signed is not None
    assert (signed.key_id, signed.purpose) == (key.pk, "login")


def test_token_names_the_key(key: IssuedKey) -> None:
    """Another company's signature is invalid for this key, and this key's for another."""
    other = client_key(CompanyFactory.create(), public_key=public_pem(private_key("other")))

    assert signed_tokens.find_signed(token_of(key, private_key("other"))) is None
    assert signed_tokens.find_signed(token_of(other)) is None
    assert signed_tokens.find_signed(token_of(other, private_key("other"))) is not None


@pytest.mark.parametrize(
    "changed",
    [
        {"exp": -120},
        {"exp": None},
        {"iat": None},
        {"iat": 600},
        {"exp": 86_500},
        {"nbf": 600},
        {"application_id": None},
        {"application_id": "x"},
        {"application_id": 7},
        {"application_id": ["x"]},
        {"application_id": "ffffffff-ffff-ffff-ffff-ffffffffffff"},
        {"application_id": "00000000-0000-0000-0000-000000000000"},
        {"exp": math.inf},
        {"iat": "now"},
        {"exp": {}},
    ],
    ids=str,
)
def test_token_with_other_claims_is_none(key: IssuedKey, changed: dict[str, Any]) -> None:
    """Times are in seconds from now."""
    now = int(time.time())
    claims: dict[str, Any] = {
        name: now + value if name != "application_id" and isinstance(value, int) else value
        for name, value in changed.items()
    }

    assert signed_tokens.find_signed(token_of(key, **claims)) is None


def unsigned(key: IssuedKey, algorithm: str) -> str:
    parts = [{"alg": algorithm, "typ": "JWT"}, claims_of(key)]
    coded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode() for part in parts]
    return ".".join([*(part.rstrip("=") for part in coded), ""])


def test_token_with_other_algorithm_is_rejected(key: IssuedKey) -> None:
    secret = base64.b64encode(public_pem(private_key()).encode())  # which HMAC would take for one
    hmac = jwt.encode(claims_of(key), secret, "HS256")
    curve = jwt.encode(claims_of(key), ec.generate_private_key(ec.SECP256R1()), "ES256")
    longer = jwt.encode(claims_of(key), private_key(), "RS512")

    tokens = [
        hmac,
        curve,
        longer,
        unsigned(key, "none"),
        unsigned(key, "None"),
        unsigned(key, "RS256"),
        token_of(key)[:-8] + "A" * 8,
    ]

    assert [signed_tokens.find_signed(token) for token in tokens] == [None] * len(tokens)


def test_invalid_token_costs_no_key_look_up(
    key: IssuedKey, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    now = int(time.time())
    tokens = [
        unsigned(key, "none"),
        unsigned(key, "RS256"),
        jwt.encode(claims_of(key), private_key(), "RS512"),
        token_of(key, exp=now - 120),
        token_of(key, exp=now + 86_500),
        token_of(key, iat=None),
    ]

    with django_assert_num_queries(0):
        assert [signed_tokens.find_signed(token) for token in tokens] == [None] * 6


@pytest.mark.parametrize("text", ["", ".", "..", "a.b.c", "é.é.é", "e30.e30.e30", "A" * 9000])
def test_malformed_jwt_is_none(key: IssuedKey, text: str) -> None:
    assert signed_tokens.find_signed(text) is None


def test_deeply_nested_token_is_not_found(key: IssuedKey) -> None:
    deep = base64.urlsafe_b64encode(b"[" * 5000).decode().rstrip("=")
    header = token_of(key).partition(".")[0]

    assert signed_tokens.find_signed(f"{header}.{deep}.x") is None


def test_token_of_a_revoked_key_is_none(key: IssuedKey) -> None:
    token = token_of(key)
    ApiKey.objects.filter(pk=key.pk).update(revoked_at=timezone.now())
    api_keys.clear_cache()

    assert signed_tokens.find_signed(token) is None


def test_key_without_a_public_key_has_no_tokens(company: Company) -> None:
    assert signed_tokens.find_signed(token_of(client_key(company))) is None


def test_public_key_is_rsa_of_a_size_that_is_safe() -> None:
    signed_tokens.validate_public_key(public_pem(private_key()))

    for pem in (
        "",
        "x",
        "é",
        public_pem(private_key(bits=1024)),
        public_pem(ec.generate_private_key(ec.SECP256R1())),
        public_pem(ed25519.Ed25519PrivateKey.generate()),
        public_pem(private_key()).replace("A", "B"),
    ):
        with pytest.raises(ValidationError):
            signed_tokens.validate_public_key(pem)
