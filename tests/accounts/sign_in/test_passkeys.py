"""Passkeys of a software authenticator: alone they open an account by PIN or finger only."""

import hashlib
import json
from base64 import urlsafe_b64encode
from typing import Any

import pytest
from allauth.account import app_settings
from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.models import Authenticator
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from django.test import Client
from django.urls import reverse
from fido2.cose import ES256
from fido2.webauthn import AttestationObject, AttestedCredentialData, AuthenticatorData

from accounts.models import User
from tests.accounts.security.people import make_person, signed_in

pytestmark = pytest.mark.django_db
FLAG = AuthenticatorData.FLAG
TOUCHED, VERIFIED = FLAG.UP, FLAG.UP | FLAG.UV
RP = hashlib.sha256(b"testserver").digest()


def encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


class SecurityKey:
    """In the pocket of whoever has it."""

    def __init__(self, user: User) -> None:
        self.user, self.id = user, hashlib.sha256(str(user.pk).encode()).digest()
        self.key = ec.generate_private_key(ec.SECP256R1())
        public = ES256.from_cryptography_key(self.key.public_key())  # type: ignore[no-untyped-call]
        holder = AttestedCredentialData.create(bytes(16), self.id, public)
        made = AuthenticatorData.create(RP, VERIFIED | FLAG.AT, 0, bytes(holder))
        attestation = bytes(AttestationObject.create("none", made, {}))
        stored = self._credential(
            clientDataJSON=self._client_data("webauthn.create", "eA"), attestationObject=attestation
        ) | {"clientExtensionResults": {"credProps": {"rk": True}}}
        Authenticator.objects.create(
            user=user, type=Authenticator.Type.WEBAUTHN, data={"name": "key", "credential": stored}
        )

    def answer(self, challenge: str, flags: AuthenticatorData.FLAG) -> dict[str, Any]:
        said, seen = (
            self._client_data("webauthn.get", challenge),
            bytes(AuthenticatorData.create(RP, flags, 1)),
        )
        signature = self.key.sign(seen + hashlib.sha256(said).digest(), ec.ECDSA(SHA256()))
        return self._credential(
            clientDataJSON=said,
            authenticatorData=seen,
            signature=signature,
            userHandle=user_pk_to_url_str(self.user).encode(),
        )

    def _credential(self, **parts: bytes) -> dict[str, Any]:
        response = {name: encoded(part) for name, part in parts.items()}
        name = encoded(self.id)
        return {"id": name, "rawId": name, "type": "public-key", "response": response}

    @staticmethod
    def _client_data(kind: str, challenge: str) -> bytes:
        said = {"type": kind, "challenge": challenge, "origin": "http://testserver"}
        return json.dumps(said).encode()


def challenge_of(client: Client) -> str:
    return str(client.session["mfa.webauthn.state"]["challenge"])


def signed_in_as(client: Client) -> str | None:
    return client.session.get("_auth_user_id")


@pytest.mark.parametrize(("flags", "opens"), [(VERIFIED, True), (TOUCHED, False)])
def test_passkey_alone_signs_in_who_it_has_verified(
    client: Client, flags: AuthenticatorData.FLAG, opens: bool
) -> None:
    key = SecurityKey(make_person())
    page = reverse("mfa_login_webauthn")
    client.get(page, headers={"x-requested-with": "XMLHttpRequest"})

    client.post(page, {"credential": json.dumps(key.answer(challenge_of(client), flags))})

    assert signed_in_as(client) == (str(key.user.pk) if opens else None)


@pytest.mark.parametrize(("flags", "opens"), [(VERIFIED, True), (TOUCHED, False)])
def test_second_step_of_another_account_lends_its_challenge_to_no_stolen_key(
    flags: AuthenticatorData.FLAG, opens: bool
) -> None:
    """As a second step a touch is enough: the password has been typed."""
    thief, stolen = make_person("thief@example.com"), SecurityKey(make_person())
    SecurityKey(thief)
    client = signed_in(thief)
    client.get(reverse("mfa_authenticate"))
    _let_it_lapse(client)
    answer = stolen.answer(challenge_of(client), flags)

    client.post(reverse("mfa_login_webauthn"), {"credential": json.dumps(answer)})

    assert signed_in_as(client) == (str(stolen.user.pk) if opens else None)


def _let_it_lapse(client: Client) -> None:
    """The sign-in that waits for its second step; the challenge stays in the session."""
    session = client.session
    session["account_login"]["initiated_at"] -= app_settings.LOGIN_TIMEOUT
    session.save()


def test_touch_is_enough_as_a_second_step() -> None:
    key = SecurityKey(make_person())
    client = signed_in(key.user)
    client.get(reverse("mfa_authenticate"))
    answer = key.answer(challenge_of(client), TOUCHED)

    client.post(reverse("mfa_authenticate"), {"credential": json.dumps(answer)})

    assert signed_in_as(client) == str(key.user.pk)
