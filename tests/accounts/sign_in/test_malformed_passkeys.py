"""A malformed passkey is refused wherever one is accepted."""

import json
from base64 import urlsafe_b64encode

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from tests.accounts.security.people import confirm, signed_in
from tests.browser.people import add_second_factors

pytestmark = pytest.mark.django_db


def encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def credential(**response: object) -> dict[str, object]:
    return {"id": "eA", "rawId": "eA", "type": "public-key", "response": response}


CLIENT_DATA = encoded(
    json.dumps({"type": "webauthn.get", "challenge": "eA", "origin": "http://x"}).encode()
)
CREDENTIALS: list[object] = [
    {"id": "x"},
    {"id": 1, "rawId": 1, "response": 1, "type": 1},
    ["x"],
    "x",
    7,
    True,
    {"response": None},
    {"response": {"userHandle": {}}},
    credential(),
    credential(clientDataJSON="e30", authenticatorData="", signature="", userHandle="MQ"),
    credential(clientDataJSON=encoded(b"["), authenticatorData="eA", signature="eA"),
    credential(clientDataJSON=encoded(b"7"), authenticatorData="eA", signature="eA"),
    credential(clientDataJSON=CLIENT_DATA, authenticatorData="eA", signature="eA"),
    credential(
        clientDataJSON=CLIENT_DATA,
        authenticatorData=encoded(bytes(32) + b"\x41" + bytes(4) + bytes(16) + b"\xff\xff"),
        signature="eA",
    ),
    credential(clientDataJSON=CLIENT_DATA, attestationObject=encoded(b"\xa3\x63fmt")),
    credential(clientDataJSON=CLIENT_DATA, attestationObject=encoded(b"\x07")),
    credential(clientDataJSON=CLIENT_DATA, attestationObject=encoded(b"\x81" * 3000)),
    credential(clientDataJSON=CLIENT_DATA, attestationObject=""),
    {**credential(), "clientExtensionResults": 7},
]
MALFORMED = list(map(json.dumps, CREDENTIALS))
ONE_OF_EACH_KIND = MALFORMED[::4]  # all views read a credential alike


def post(client: Client, name: str, text: str) -> int:
    client.raise_request_exception = False
    return client.post(reverse(name), {"credential": text}).status_code


@pytest.mark.parametrize("text", MALFORMED)
def test_malformed_passkey_does_not_sign_in(text: str) -> None:
    client = Client()
    client.get(reverse("mfa_login_webauthn"), headers={"x-requested-with": "XMLHttpRequest"})

    assert post(client, "mfa_login_webauthn", text) == 302
    assert "_auth_user_id" not in client.session


@pytest.mark.parametrize("text", ONE_OF_EACH_KIND)
def test_malformed_passkey_is_refused_as_the_second_step(user: User, text: str) -> None:
    add_second_factors(user)
    client = signed_in(user)
    client.get(reverse("mfa_authenticate"))

    assert post(client, "mfa_authenticate", text) == 200


@pytest.mark.parametrize("text", ONE_OF_EACH_KIND)
def test_malformed_passkey_does_not_reauthenticate(user: User, text: str) -> None:
    client = signed_in(user)
    add_second_factors(user)
    client.get(reverse("mfa_reauthenticate_webauthn"))

    assert post(client, "mfa_reauthenticate_webauthn", text) == 302


@pytest.mark.parametrize("text", ONE_OF_EACH_KIND)
def test_malformed_passkey_is_not_added(user: User, text: str) -> None:
    client = signed_in(user)
    confirm(client)
    client.get(reverse("mfa_add_webauthn"))

    assert post(client, "mfa_add_webauthn", text) == 200
    assert not user.authenticator_set.exists()
