"""A provider on the wire whose answers the test writes, for what a real one never answers."""

import json
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import responses
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from tests.accounts.oidc.sign_ins import start_sign_in

ISSUER = "https://id.example.com"
CLIENT_ID = "kvitok"
CLIENT_SECRET = "a secret that the client has as well"
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
METADATA = {
    "issuer": ISSUER,
    "authorization_endpoint": f"{ISSUER}/authorize",
    "token_endpoint": f"{ISSUER}/token",
    "jwks_uri": f"{ISSUER}/keys",
}
ECAlgorithm = jwt.algorithms.ECAlgorithm


def public(key: Any, **fields: str) -> dict[str, Any]:
    kind = jwt.algorithms.RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else ECAlgorithm
    return json.loads(kind.to_jwk(key.public_key())) | fields  # type: ignore[no-any-return]


KEYS = [public(RSA_KEY, kid="rsa"), public(EC_KEY, kid="ec", alg="ES256", use="sig")]


class Forger:
    def __init__(self, wire: responses.RequestsMock) -> None:
        self.wire = wire
        self.keys = list(KEYS)
        wire.get(f"{ISSUER}/.well-known/openid-configuration", json=METADATA)
        wire.add_callback("GET", f"{ISSUER}/keys", self._answer_keys)

    def _answer_keys(self, _request: object) -> tuple[int, dict[str, str], str]:
        return 200, {}, json.dumps({"keys": self.keys})

    def begin(self, client: Client) -> dict[str, str]:
        """`state`, `nonce` and the other parameters that the browser takes to the provider."""
        result = parse_qs(urlsplit(start_sign_in(client)).query)
        return {name: values[0] for name, values in result.items()}

    def finish(self, client: Client, sent: dict[str, str], token: str) -> HttpResponse:
        tokens = {"access_token": "a", "token_type": "Bearer", "id_token": token}
        self.wire.post(f"{ISSUER}/token", json=tokens)
        query = {"code": "c", "state": sent["state"]}
        return client.get(reverse("sso-callback"), query)  # type: ignore[return-value]


def claims(nonce: str, /, **changes: Any) -> dict[str, Any]:
    """The claims of a good token; None leaves a claim out."""
    now = int(time.time())
    good = {"iss": ISSUER, "sub": "anna", "aud": CLIENT_ID, "exp": now + 300, "iat": now}
    result = good | {"nonce": nonce, "email": "anna@example.com", "groups": []} | changes
    return {name: value for name, value in result.items() if value is not None}


def signed(
    content: dict[str, Any], key: Any = RSA_KEY, alg: str = "RS256", kid: str | None = "rsa"
) -> str:
    return jwt.encode(content, key, alg, headers={"kid": kid} if kid else None)
