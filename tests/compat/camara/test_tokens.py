"""CAMARA's token endpoint: the client-credentials grant."""

import base64
from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from accounts.keys import issued_tokens
from accounts.models import Company, Mode
from compat.camara.dialect import DIALECT
from tests.api.clients import ApiResponse
from tests.compat.clients import FORM, DialectClient, client_key
from tests.factories import ApiKeyFactory, CompanyFactory

SCOPE = "one-time-password-sms:send-validate"
GRANT = {"grant_type": "client_credentials"}


@pytest.fixture
def key(company: Company) -> str:
    return client_key(company).plaintext


def basic(key: str, user: str = "client") -> DialectClient:
    pair = base64.b64encode(f"{user}:{key}".encode()).decode()
    return DialectClient(DIALECT, None, Authorization=f"Basic {pair}")


def ask(key: str, **fields: str) -> ApiResponse:
    form = GRANT | {"client_id": "any", "client_secret": key} | fields
    given = {name: value for name, value in form.items() if value}
    return DialectClient(DIALECT, None).form("/oauth2/token", given)


def check(response: ApiResponse, status: int, error: str) -> None:
    assert (response.status, response.body["error"]) == (status, error)
    assert response.body.keys() == {"error", "error_description"}
    assert response.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("scope", ["", SCOPE, f"dpv:FraudPreventionAndDetection {SCOPE}"])
def test_token_opens_the_calls(key: str, scope: str) -> None:
    response = ask(key, scope=scope)

    assert response.status == 200
    assert response.body | {"access_token": ""} == {
        "access_token": "",
        "token_type": "Bearer",
        "expires_in": 3600,
        "scope": SCOPE,
    }
    assert (response.headers["Cache-Control"], response.headers["Pragma"]) == (
        "no-store",
        "no-cache",
    )
    assert key not in response.body["access_token"]
    bearer = DialectClient(DIALECT, None, Authorization=f"Bearer {response.body['access_token']}")
    body = {"phoneNumber": "+79161234567", "message": "{{code}}"}
    assert bearer.json("/one-time-password-sms/v1/send-code", body).status == 200


def test_credentials_may_be_in_the_header(key: str) -> None:
    assert basic(key).form("/oauth2/token", GRANT).status == 200
    assert basic(key, "a%3Ab").form("/oauth2/token", GRANT).status == 200


def test_token_ends_after_an_hour_and_with_its_key(key: str) -> None:
    token = ask(key).body["access_token"]
    bearer = DialectClient(DIALECT, None, Authorization=f"Bearer {token}")

    with time_machine.travel(timezone.now() + timedelta(seconds=issued_tokens.LIFETIME + 2)):
        response = bearer.json("/one-time-password-sms/v1/send-code", {})

    assert (response.status, response.code) == (401, "UNAUTHENTICATED")


def test_unknown_client_is_refused(key: str) -> None:
    check(ask(""), 401, "invalid_client")
    check(ask("kv_test_x"), 401, "invalid_client")
    check(ask(key[:-1]), 401, "invalid_client")
    response = basic("x").form("/oauth2/token", GRANT)
    check(response, 401, "invalid_client")
    assert response.headers["WWW-Authenticate"].startswith("Basic")


def test_key_without_permission_is_an_unauthorized_client(company: Company) -> None:
    suspended = CompanyFactory.create(status=Company.Status.SUSPENDED)

    for key in (
        ApiKeyFactory.create(company=company, mode=Mode.TEST),
        client_key(company, allowed_ips=["203.0.113.7"]),
        client_key(suspended),
    ):
        check(ask(key.plaintext), 400, "unauthorized_client")


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"grant_type": ""}, "invalid_request"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"grant_type": "authorization_code"}, "unsupported_grant_type"),
        ({"scope": "sim-swap:check"}, "invalid_scope"),
        ({"scope": f"{SCOPE} openid"}, "invalid_scope"),
    ],
    ids=str,
)
def test_other_requests_are_refused(key: str, fields: dict[str, str], error: str) -> None:
    check(ask(key, **fields), 400, error)


def test_repeated_parameters_and_credentials_are_refused(key: str) -> None:
    twice = "grant_type=client_credentials&grant_type=password"
    client = DialectClient(DIALECT, None)

    check(client.call("POST", "/oauth2/token", twice.encode(), FORM), 400, "invalid_request")
    both = basic(key).form("/oauth2/token", GRANT | {"client_secret": key})
    check(both, 400, "invalid_request")


@pytest.mark.parametrize("body", [b"", b"\xff", b"%", b"{}"])
def test_malformed_form_is_an_invalid_request(db: None, body: bytes) -> None:
    client = DialectClient(DIALECT, None)

    for content_type in (FORM, "application/json"):
        check(client.call("POST", "/oauth2/token", body, content_type), 400, "invalid_request")


def test_json_refusal_names_accepted_format(db: None) -> None:
    response = DialectClient(DIALECT, None).json("/oauth2/token", {"grant_type": "x"})

    assert FORM in response.body["error_description"]


def test_tokens_count_against_the_keys_rate(db: None) -> None:
    key = client_key(CompanyFactory.create(api_rate=1)).plaintext

    assert ask(key).status == 200
    assert ask(key).status == 429
