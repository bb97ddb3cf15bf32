"""Passkeys of a software authenticator: alone they open an account by PIN or finger only."""

import hashlib
import json
from base64 import urlsafe_b64encode
from typing import Any

import pytest
from allauth.account import app_settings
from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.internal import auth
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from django.contrib.sessions.models import Session
from django.db.models import QuerySet
from django.test import Client
from django.urls import reverse
from fido2.cose import ES256
from fido2.webauthn import AttestationObject, AttestedCredentialData, AuthenticatorData
from pytest_django import Settings

from accounts.models import User
from accounts.sign_in import factor_forms
from tests.accounts.security.people import confirm, make_person, signed_in

pytestmark = pytest.mark.django_db
FLAG = AuthenticatorData.FLAG
TOUCHED = FLAG.UP
VERIFIED = FLAG.UP | FLAG.UV
RP = hashlib.sha256(b"testserver").digest()


def encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


class SecurityKey:
    """A security key in a person's pocket."""

    def __init__(self, user: User, *, count: int = 0) -> None:
        self.stored = self._made(user, "eA", count=count)
        Authenticator.objects.create(
            user=user,
            type=Authenticator.Type.WEBAUTHN,
            data={"name": "key", "credential": self.stored},
        )

    @classmethod
    def made(cls, user: User, challenge: str, origin: str) -> dict[str, Any]:
        """Returns a browser's response with a new passkey."""
        return cls.__new__(cls)._made(user, challenge, origin)

    def _made(
        self, user: User, challenge: str, origin: str = "http://testserver", count: int = 0
    ) -> dict[str, Any]:
        self.user = user
        self.id = hashlib.sha256(str(user.pk).encode()).digest()
        self.key = ec.generate_private_key(ec.SECP256R1())
        public = ES256.from_cryptography_key(self.key.public_key())  # type: ignore[no-untyped-call]
        holder = AttestedCredentialData.create(bytes(16), self.id, public)
        made = AuthenticatorData.create(RP, VERIFIED | FLAG.AT, count, bytes(holder))
        attestation = bytes(AttestationObject.create("none", made, {}))
        return self._credential(
            clientDataJSON=self._client_data("webauthn.create", challenge, origin),
            attestationObject=attestation,
        ) | {"clientExtensionResults": {"credProps": {"rk": True}}}

    def answer(
        self,
        challenge: str,
        flags: AuthenticatorData.FLAG,
        count: int = 1,
        origin: str = "http://testserver",
    ) -> dict[str, Any]:
        said = self._client_data("webauthn.get", challenge, origin)
        seen = bytes(AuthenticatorData.create(RP, flags, count))
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
    def _client_data(kind: str, challenge: str, origin: str = "http://testserver") -> bytes:
        said = {"type": kind, "challenge": challenge, "origin": origin}
        return json.dumps(said).encode()


def challenge_of(client: Client) -> str:
    return str(client.session["mfa.webauthn.state"]["challenge"])


def signed_in_as(client: Client) -> str | None:
    return client.session.get("_auth_user_id")


@pytest.mark.parametrize(("flags", "opens"), [(VERIFIED, True), (TOUCHED, False)])
def test_passkey_alone_signs_in_a_verified_holder(
    client: Client, flags: AuthenticatorData.FLAG, opens: bool
) -> None:
    key = SecurityKey(make_person())
    page = reverse("mfa_login_webauthn")
    client.get(page, headers={"x-requested-with": "XMLHttpRequest"})

    client.post(page, {"credential": json.dumps(key.answer(challenge_of(client), flags))})

    assert signed_in_as(client) == (str(key.user.pk) if opens else None)


@pytest.mark.parametrize(("flags", "opens"), [(VERIFIED, True), (TOUCHED, False)])
def test_challenge_of_other_account_rejects_stolen_passkey(
    flags: AuthenticatorData.FLAG, opens: bool
) -> None:
    """A touch is enough for a second step: the password has been typed."""
    thief = make_person("thief@example.com")
    stolen = SecurityKey(make_person())
    SecurityKey(thief)
    client = signed_in(thief)
    client.get(reverse("mfa_authenticate"))
    _let_it_lapse(client)
    answer = stolen.answer(challenge_of(client), flags)

    client.post(reverse("mfa_login_webauthn"), {"credential": json.dumps(answer)})

    assert signed_in_as(client) == (str(stolen.user.pk) if opens else None)


def _let_it_lapse(client: Client) -> None:
    """Lets the sign-in that waits for its second step lapse; the challenge stays in the session."""
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


def _challenged_client() -> Client:
    client = Client()
    client.get(reverse("mfa_login_webauthn"), headers={"x-requested-with": "XMLHttpRequest"})
    return client


def _sign_in(client: Client, answer: dict[str, Any]) -> bool:
    client.post(reverse("mfa_login_webauthn"), {"credential": json.dumps(answer)})
    return signed_in_as(client) is not None


@pytest.mark.parametrize(
    ("counts", "opens"),
    [
        ([0, 0, 0], [True, True]),  # it does not count
        ([7, 8, 9], [True, True]),
        ([7, 7, 8], [False, True]),
        ([7, 9, 9], [True, False]),
        ([7, 9, 8], [True, False]),
        ([7, 9, 0], [True, False]),
    ],
)
def test_copy_of_a_counting_passkey_is_noticed(counts: list[int], opens: list[bool]) -> None:
    key = SecurityKey(make_person(), count=counts[0])

    def signs_in(count: int) -> bool:
        client = _challenged_client()
        return _sign_in(client, key.answer(challenge_of(client), VERIFIED, count))

    assert [signs_in(count) for count in counts[1:]] == opens


def test_two_answers_at_once_count_once() -> None:
    """Both requests have read the challenge from the session before one of them is done."""
    key = SecurityKey(make_person(), count=0)
    first = _challenged_client()
    second = _challenged_client()
    session = second.session
    session["mfa.webauthn.state"] = first.session["mfa.webauthn.state"]
    session.save()
    answer = key.answer(challenge_of(first), VERIFIED, 0)

    assert [_sign_in(client, answer) for client in (first, second)] == [True, False]


def test_challenges_for_strangers_are_limited(settings: Settings) -> None:
    """Each creates a session, kept for twelve hours: one machine created 264 a second."""
    settings.ACCOUNT_RATE_LIMITS = settings.ACCOUNT_RATE_LIMITS | {"passkey": "2/m/ip"}
    page = reverse("mfa_login_webauthn")

    script = {"x-requested-with": "XMLHttpRequest"}

    statuses = [Client().get(page, headers=script).status_code for _time in range(3)]

    assert (statuses, Session.objects.count()) == ([200, 200, 429], 2)
    assert Client().get(reverse("account_login")).status_code == 200


def test_passkey_removed_meanwhile_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    key = SecurityKey(make_person())
    client = _challenged_client()
    complete = auth.complete_authentication

    def complete_and_remove(*args: Any) -> Authenticator:
        claimed: Authenticator = complete(*args)
        Authenticator.objects.filter(pk=claimed.pk).delete()
        return claimed

    monkeypatch.setattr(auth, "complete_authentication", complete_and_remove)

    assert not _sign_in(client, key.answer(challenge_of(client), VERIFIED))


@pytest.mark.django_db(transaction=True)
def test_passkey_removed_while_it_signs_in_is_not_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    key = SecurityKey(make_person())
    client = _challenged_client()
    record_usage = Authenticator.record_usage

    def record_after_removal(used: Authenticator) -> None:
        Authenticator.objects.filter(pk=used.pk).delete()
        record_usage(used)

    monkeypatch.setattr(Authenticator, "record_usage", record_after_removal)
    answer = json.dumps(key.answer(challenge_of(client), VERIFIED))

    refused = client.post(reverse("mfa_login_webauthn"), {"credential": answer})

    assert (refused.status_code, signed_in_as(client)) == (409, None)


@pytest.mark.parametrize(
    ("origin", "opens"),
    [
        ("https://testserver", True),
        ("https://testserver:8443", True),
        ("https://phishing.testserver", False),
        ("https://example.com", False),
        ("https://testserver.example.com", False),
        ("testserver", False),
        ("https://[::1", False),
        ("", False),
    ],
)
def test_assertion_is_accepted_only_for_our_origin(origin: str, opens: bool) -> None:
    key = SecurityKey(make_person())
    client = _challenged_client()

    assert _sign_in(client, key.answer(challenge_of(client), VERIFIED, origin=origin)) == opens


@pytest.mark.parametrize(
    ("origin", "kept"), [("https://testserver", True), ("https://phishing.testserver", False)]
)
def test_passkey_made_for_another_origin_is_not_added(origin: str, kept: bool) -> None:
    user = make_person()
    client = signed_in(user)
    confirm(client)

    _add(client, user, origin=origin)

    assert _passkeys(user).exists() == kept


def _add(
    client: Client,
    user: User,
    *,
    name: str = "key",
    origin: str = "http://testserver",
    junk: int = 0,
) -> None:
    client.get(reverse("mfa_add_webauthn"))
    made = SecurityKey.made(user, challenge_of(client), origin) | {"junk": "x" * junk}
    client.post(reverse("mfa_add_webauthn"), {"name": name, "credential": json.dumps(made)})


def _passkeys(user: User) -> QuerySet[Authenticator]:
    return Authenticator.objects.filter(user=user, type=Authenticator.Type.WEBAUTHN)


def test_passkeys_of_an_account_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any visitor who enters an account's address makes us read all of them."""
    monkeypatch.setattr(factor_forms, "MAX_PASSKEYS", 2)
    user = make_person()
    client = signed_in(user)
    confirm(client)

    _add(client, user, junk=factor_forms.MAX_CREDENTIAL)
    assert not _passkeys(user).exists()
    _add(client, user, name="k" * 5000)
    assert len(_passkeys(user).get().data["name"]) == factor_forms.MAX_NAME
    edit = reverse("mfa_edit_webauthn", args=[_passkeys(user).get().pk])
    client.post(edit, {"name": "n" * 5000})
    assert len(_passkeys(user).get().data["name"]) == factor_forms.MAX_NAME
    _add(client, user)
    _add(client, user)
    assert _passkeys(user).count() == 2
