"""Forged, foreign and stale ID tokens sign nobody in."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import jwt
import pytest
import responses
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.test import Client, RequestFactory
from django.urls import reverse
from pytest_django import Settings

from accounts.models import AuditEvent, User
from accounts.oidc import discovery, identities
from accounts.oidc import tokens as of
from accounts.oidc.refusals import Reason, RefusedError
from config.environment.oidc_settings import parse_roles
from tests.accounts.oidc.forger import (
    CLIENT_ID,
    CLIENT_SECRET,
    EC_KEY,
    ISSUER,
    METADATA,
    OTHER_KEY,
    RSA_KEY,
    Forger,
    claims,
    public,
    signed,
)
from tests.accounts.oidc.sign_ins import HERE, connect, refusal, user_of
from tests.accounts.security.people import make_person
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def forger(settings: Settings) -> Iterator[Forger]:
    settings.PUBLIC_URL = HERE
    settings.OIDC_ISSUER = ISSUER
    settings.OIDC_NAME = "Acme ID"
    settings.OIDC_CLIENT_ID = CLIENT_ID
    settings.OIDC_CLIENT_SECRET = CLIENT_SECRET
    discovery.clear_cache()
    with responses.RequestsMock(assert_all_requests_are_fired=False) as wire:
        yield Forger(wire)


@pytest.fixture
def user(forger: Forger) -> User:
    user = make_person()
    connect(user, "anna")
    return user


def by_hand(header: dict[str, Any], content: dict[str, Any], secret: bytes = b"") -> str:
    """A token that no library would sign: unsigned, or with a public key as the secret."""
    parts = [_encoded(json.dumps(part).encode()) for part in (header, content)]
    mac = hmac.digest(secret, ".".join(parts).encode(), hashlib.sha256) if secret else b""
    return ".".join([*parts, _encoded(mac)])


def _encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def in_seconds(seconds: int) -> int:
    return int(time.time()) + seconds


ES384_KEY = ec.generate_private_key(ec.SECP384R1())
SIGNERS = {"None": (RSA_KEY, "RS256"), "P-256": (EC_KEY, "ES256"), "P-384": (ES384_KEY, "ES384")}
PUBLIC_PEM = RSA_KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
HS256 = {"alg": "HS256", "kid": "rsa", "typ": "JWT"}
FORGED: dict[str, Callable[[str], str]] = {
    "other nonce": lambda n: signed(claims("other")),
    "no nonce": lambda n: signed(claims(n, nonce=None)),
    "half a character for a nonce": lambda n: signed(claims(n, nonce="\ud800")),
    "other audience": lambda n: signed(claims(n, aud="other")),
    "several audiences": lambda n: signed(claims(n, aud=[CLIENT_ID, "other"])),
    "other party": lambda n: signed(claims(n, azp="other")),
    "no audience": lambda n: signed(claims(n, aud=None)),
    "other issuer": lambda n: signed(claims(n, iss="https://evil.example.com")),
    "issuer with a slash": lambda n: signed(claims(n, iss=f"{ISSUER}/")),
    "expired": lambda n: signed(claims(n, exp=in_seconds(-120))),
    "never expires": lambda n: signed(claims(n, exp=None)),
    "of the future": lambda n: signed(claims(n, iat=in_seconds(300))),
    "without subject": lambda n: signed(claims(n, sub=None)),
    "of an empty subject": lambda n: signed(claims(n, sub="")),
    "of a long subject": lambda n: signed(claims(n, sub="a" * 192)),
    "of a subject with NUL": lambda n: signed(claims(n, sub="a\0")),
    "of half a character": lambda n: signed(claims(n, sub="a\ud800")),
    "not signed": lambda n: by_hand({"alg": "none", "kid": "rsa"}, claims(n)),
    "signed by the client": lambda n: by_hand(HS256, claims(n), CLIENT_SECRET.encode()),
    "signed by the public key": lambda n: by_hand(HS256, claims(n), PUBLIC_PEM),
    "other key": lambda n: signed(claims(n), OTHER_KEY),
    "unknown key": lambda n: signed(claims(n), kid="unknown"),
    "no key named": lambda n: signed(claims(n), kid=None),
    "not the key's algorithm": lambda n: signed(claims(n), kid="ec"),
    "no token": lambda n: "",
    "no JWT": lambda n: "a.b.c",
    "no characters": lambda n: "\ud800.b.c",
    "no object": lambda n: str(jwt.api_jws.encode(b"[]", RSA_KEY, "RS256", {"kid": "rsa"})),
}


@pytest.mark.parametrize("forged", FORGED)
def test_forged_token_signs_nobody_in(
    client: Client, forger: Forger, user: User, forged: str
) -> None:
    sent = forger.begin(client)

    response = forger.finish(client, sent, FORGED[forged](sent["nonce"]))

    assert (response.status_code, refusal(response)) == (403, "invalid")
    assert user_of(client) is None
    assert not AuditEvent.objects.filter(action="login.sso").exists()


GOOD: dict[str, Callable[[str], str]] = {
    "as usual": lambda n: signed(claims(n)),
    "several audiences, issued to us": lambda n: signed(
        claims(n, aud=[CLIENT_ID, "other"], azp=CLIENT_ID)
    ),
    "by a slow clock": lambda n: signed(claims(n, exp=in_seconds(-30))),
    "by a fast clock": lambda n: signed(claims(n, iat=in_seconds(30))),
    "by PS256": lambda n: signed(claims(n), alg="PS256"),
    "by ES256": lambda n: signed(claims(n), EC_KEY, "ES256", "ec"),
}


@pytest.mark.parametrize("good", GOOD)
def test_good_token_signs_in(client: Client, forger: Forger, user: User, good: str) -> None:
    sent = forger.begin(client)

    forger.finish(client, sent, GOOD[good](sent["nonce"]))

    assert user_of(client) == user


@pytest.mark.parametrize("key", [public(RSA_KEY), public(EC_KEY), public(ES384_KEY)])
@pytest.mark.parametrize("missing", [{}, {"use": None, "alg": None}, {"use": "", "alg": ""}])
def test_key_need_not_say_what_it_is_for(
    client: Client, forger: Forger, user: User, key: dict[str, Any], missing: dict[str, Any]
) -> None:
    """Both are optional (RFC 7517, 4), and some providers write null for what they leave out."""
    private, alg = SIGNERS[str(key.get("crv"))]
    forger.keys = [key | {"kid": "k"} | missing]
    sent = forger.begin(client)

    forger.finish(client, sent, signed(claims(sent["nonce"]), private, alg, "k"))

    assert user_of(client) == user


@pytest.mark.parametrize("name", ["new", "rsa", None])
@pytest.mark.usefixtures("user")
def test_new_key_of_the_provider_is_read(
    client: Client, forger: Forger, monkeypatch: pytest.MonkeyPatch, name: str | None
) -> None:
    for key, alg in ((OTHER_KEY, "RS256"), (EC_KEY, "ES256")):
        _rotate(forger, name, key, monkeypatch)
        sent = forger.begin(client)
        forger.finish(client, sent, signed(claims(sent["nonce"]), key, alg, kid=name))
        assert user_of(client) is not None
        client.logout()


def _rotate(forger: Forger, name: str | None, key: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    discovery.clear_cache()
    monkeypatch.setattr(discovery, "MIN_REFRESH", 0.0)
    forger.keys = [public(RSA_KEY, **({"kid": "rsa"} if name else {}))]
    discovery.signing_keys()
    forger.keys = [public(key, **({"kid": name} if name else {}))]


def test_unknown_keys_are_not_fetched_repeatedly(
    client: Client, forger: Forger, user: User
) -> None:
    for _ in range(3):
        sent = forger.begin(client)
        forger.finish(client, sent, signed(claims(sent["nonce"]), kid="unknown"))

    asked = [call for call in forger.wire.calls if call.request.url == f"{ISSUER}/keys"]
    assert len(asked) == 1


def test_state_of_another_session_is_refused(client: Client, forger: Forger, user: User) -> None:
    sent = forger.begin(Client())

    response = forger.finish(client, sent, signed(claims(sent["nonce"])))

    assert (response.status_code, refusal(response)) == (400, "expired")
    assert user_of(client) is None


@pytest.mark.parametrize("query", [{}, {"state": ""}, {"state": "x" * 5000, "code": "c"}])
def test_invented_answers_are_refused(
    client: Client, forger: Forger, query: dict[str, str]
) -> None:
    assert refusal(client.get(reverse("sso-callback"), query)) == "expired"


def test_answer_of_another_issuer_is_refused(client: Client, forger: Forger, user: User) -> None:
    sent = forger.begin(client)
    query = {"code": "c", "state": sent["state"], "iss": "https://evil.example.com"}

    response = client.get(reverse("sso-callback"), query)

    assert refusal(response) == "invalid"
    assert f"{ISSUER}/token" not in [call.request.url for call in forger.wire.calls]


def test_refusal_of_the_sign_in_provider_is_shown(client: Client, forger: Forger) -> None:
    sent = forger.begin(client)
    query = {"state": sent["state"], "error": "access_denied"}

    response = client.get(reverse("sso-callback"), query)

    assert (response.status_code, refusal(response)) == (403, "canceled")


def serve_user_information(forger: Forger, subject: str) -> None:
    url = f"{ISSUER}/userinfo"
    metadata = _metadata(userinfo_endpoint=url)
    forger.wire.replace("GET", f"{ISSUER}/.well-known/openid-configuration", json=metadata)
    forger.wire.get(url, json={"sub": subject, "groups": ["admins"]})


def test_user_information_of_another_person_is_refused(
    client: Client, forger: Forger, user: User
) -> None:
    serve_user_information(forger, "boris")
    sent = forger.begin(client)

    response = forger.finish(client, sent, signed(claims(sent["nonce"], groups=None)))

    assert refusal(response) == "invalid"


@pytest.mark.parametrize("endpoint", [5, ["https://id.example.com/userinfo"], "https://["])
def test_user_information_without_an_address_is_refused(
    client: Client, forger: Forger, user: User, endpoint: object
) -> None:
    metadata = _metadata(userinfo_endpoint=endpoint)
    forger.wire.replace("GET", f"{ISSUER}/.well-known/openid-configuration", json=metadata)
    sent = forger.begin(client)

    response = forger.finish(client, sent, signed(claims(sent["nonce"], groups=None)))

    assert (response.status_code, refusal(response)) == (403, "invalid")


def test_published_private_key_is_refused(client: Client, forger: Forger, user: User) -> None:
    """A reader of the key can sign as the provider."""
    private = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(RSA_KEY))
    forger.keys = [private | {"kid": "rsa", "use": "sig"}]
    sent = forger.begin(client)

    response = forger.finish(client, sent, signed(claims(sent["nonce"])))

    assert (response.status_code, refusal(response)) == (403, "invalid")


def test_user_information_is_read_for_missing_groups(
    client: Client, forger: Forger, user: User, settings: Settings
) -> None:
    settings.OIDC_ROLES = parse_roles("admins=superuser")
    serve_user_information(forger, "anna")
    sent = forger.begin(client)

    forger.finish(client, sent, signed(claims(sent["nonce"], groups=None)))

    user.refresh_from_db()
    assert user.is_superuser


def test_groups_left_out_take_no_role(
    client: Client, forger: Forger, user: User, settings: Settings
) -> None:
    """Entra ID leaves out those of a person who is in more than 200, and says where they are."""
    settings.OIDC_ROLES = parse_roles("admins=superuser")
    sent = forger.begin(client)
    forger.finish(client, sent, signed(claims(sent["nonce"], groups=["admins"])))
    elsewhere = {"_claim_names": {"groups": "src1"}, "groups": None}
    sent = forger.begin(other := Client())

    response = forger.finish(other, sent, signed(claims(sent["nonce"], **elsewhere)))

    user.refresh_from_db()
    assert (refusal(response), user_of(other)) == ("groups_elsewhere", None)
    assert user.is_superuser
    assert AuditEvent.objects.filter(action="login.failed").count() == 1


def _metadata(**changes: Any) -> dict[str, Any]:

    return METADATA | changes


@pytest.mark.parametrize(
    "changes",
    [
        {"issuer": "https://evil.example.com"},
        {"issuer": f"{ISSUER}/"},
        {"token_endpoint": "http://id.example.com/token"},
        {"jwks_uri": ""},
        {"jwks_uri": ["https://id.example.com/keys"]},
        {"authorization_endpoint": "https://["},
        {"authorization_endpoint": "https://\ud800/"},
        {"token_endpoint_auth_methods_supported": 5},
    ],
)
def test_metadata_that_cannot_be_trusted_is_refused(
    client: Client, forger: Forger, changes: dict[str, Any]
) -> None:
    url = f"{ISSUER}/.well-known/openid-configuration"
    forger.wire.replace("GET", url, json=_metadata(**changes))

    response = client.post(reverse("sso-start"))

    assert (response.status_code, refusal(response)) == (403, "invalid")


@pytest.mark.parametrize(
    ("auth_time", "seconds"),
    [
        (1_764_000_000, 1_764_000_000.0),
        (1_764_000_000.75, 1_764_000_000.0),
        (10**400, 0.0),
        (-1, 0.0),
        (float("nan"), 0.0),
        (float("inf"), 0.0),
        (1e300, 0.0),
        (True, 0.0),
        ("1764000000", 0.0),
        ([], 0.0),
        (None, 0.0),
    ],
)
def test_time_of_authentication_is_read_in_seconds(auth_time: object, seconds: float) -> None:
    assert of.authenticated_at({"auth_time": auth_time}) == seconds


@pytest.mark.parametrize("odd", [[], {}, ["a"], {"a": 1}, 10**400, float("nan"), None, True, "a"])
def test_odd_claim_is_ignored(settings: Settings, odd: object) -> None:
    settings.OIDC_TRUSTED_AMR = settings.OIDC_TRUSTED_ACR = frozenset({"mfa"})
    claims = dict.fromkeys(
        ("email", "email_verified", "name", "amr", "acr", "auth_time", settings.OIDC_GROUPS_CLAIM),
        odd,
    )

    assert of.email(claims) == ""
    assert of.authenticated_at(claims) == 0.0
    assert not of.has_trusted_factor(claims)
    assert of.groups(claims) <= {"a"}


def test_name_is_one_line() -> None:
    assert of.name({"name": "Anna\r\nBcc: a@example.com\0\ud800"}) == "Anna Bcc: a@example.com"


@pytest.mark.parametrize("stored", ["anna@faß.de", "Anna@FASS.de", "anna@xn--fa-hia.de"])
@pytest.mark.parametrize("claimed", ["anna@FAß.de", "Anna@xn--fa-hia.DE", "anna@faß.de."])
@pytest.mark.django_db
def test_address_is_accepted_in_either_spelling_of_its_domain(
    rf: RequestFactory, settings: Settings, stored: str, claimed: str
) -> None:
    settings.OIDC_ISSUER = "https://id.example.com"
    UserFactory.create(email=stored)
    claims = {"sub": "1", "email": claimed, "email_verified": True}

    with pytest.raises(RefusedError) as refused:
        identities.find_or_create(claims, rf.get("/"))

    is_another = stored.endswith("FASS.de")  # the site of somebody else
    assert refused.value.reason == (Reason.NO_ACCOUNT if is_another else Reason.ADDRESS_TAKEN)


@pytest.mark.parametrize("path", ["groups", "groups.kvitok", "https://example.com/groups"])
def test_distributed_groups_do_not_count_as_missing(settings: Settings, path: str) -> None:
    settings.OIDC_GROUPS_CLAIM = path
    settings.OIDC_ROLES = parse_roles("admins=superuser")
    root = path if ":" in path else "groups"
    elsewhere = {"_claim_names": {root: "src1"}, "_claim_sources": {"src1": {"endpoint": "x"}}}

    with pytest.raises(RefusedError) as refused:
        of.groups(elsewhere)
    settings.OIDC_ROLES = parse_roles("")

    assert refused.value.reason == Reason.GROUPS_ELSEWHERE
    assert of.groups(elsewhere) == frozenset()  # they give nothing
