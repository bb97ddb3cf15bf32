"""The provider's published endpoints and signing keys, cached for ten minutes.

The operator chooses the provider, often inside their own network, so the egress guard of webhooks
does not apply; the proxy is OIDC_PROXY.

https://openid.net/specs/openid-connect-discovery-1_0.html
"""

import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

import jwt
from django.conf import settings
from urllib3.exceptions import HTTPError
from urllib3.util import make_headers

from accounts.oidc.refusals import Reason, RefusedError
from outbound.connections import Connections
from parsing.json_objects import read_object
from storage.sessions import release_connection

INVALID_GRANT = "invalid_grant"  # RFC 6749, 5.2: the code is old, or was used before
TIMEOUT = (2.0, 6.0)  # seconds to connect, seconds for the whole response
# Per process: a hanging provider must leave threads free for codes and links.
MAX_CALLS = 8


@cache
def connections() -> Connections:
    return Connections(settings.OIDC_ISSUER, TIMEOUT, settings.OIDC_PROXY, MAX_CALLS)


def get_json(url: str, *, bearer: str = "") -> dict[str, Any]:
    return _json("GET", url, {"Authorization": f"Bearer {bearer}"} if bearer else {})


def post_form(url: str, fields: dict[str, str], auth: tuple[str, str] | None) -> dict[str, Any]:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    if auth is not None:
        headers |= make_headers(basic_auth=":".join(auth))
    return _json("POST", url, headers, urlencode(fields).encode())


def _json(
    method: str, url: str, headers: Mapping[str, str], body: bytes | None = None
) -> dict[str, Any]:
    """The JSON object in the response; the detail of a RefusedError quotes nothing of it."""
    require_secure(url)
    release_connection()
    try:
        response = connections().request(method, "", headers, body, url=url)
        parsed = read_object(response.body)
    except (HTTPError, ValueError) as error:
        raise RefusedError(Reason.UNAVAILABLE, type(error).__name__) from error
    if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise RefusedError(Reason.UNAVAILABLE, f"status {response.status}")
    if parsed.get("error") == INVALID_GRANT:
        raise RefusedError(Reason.EXPIRED, INVALID_GRANT)
    if response.status != HTTPStatus.OK:
        raise RefusedError(Reason.INVALID, f"status {response.status}")
    return parsed


def require_secure(url: object) -> None:
    """Refuses a plain HTTP `url` of an HTTPS issuer: the client secret, or the person's browser,
    goes there.
    """
    schemes = (
        ("https://",) if settings.OIDC_ISSUER.startswith("https://") else ("https://", "http://")
    )
    if not (isinstance(url, str) and url.startswith(schemes) and _is_address(url)):
        raise RefusedError(Reason.INVALID, "an endpoint is not https")


def _is_address(url: str) -> bool:
    try:
        return bool(urlsplit(url).hostname and url.encode())
    except ValueError:
        return False


LIFETIME = 600.0  # seconds
MIN_REFRESH = 10.0  # seconds between two reads of the keys, when a token's key is not among them
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
AUTH_METHODS = "token_endpoint_auth_methods_supported"
# By key type. Only signatures that need the provider's private key: neither `none` nor HMAC, whose
# secret the client has as well.
ALGORITHMS = {
    "RSA": ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    "EC": ("ES256", "ES384", "ES512"),
    "OKP": ("EdDSA",),
}


class SigningKey(NamedTuple):
    key_id: str | None
    key: Any  # a public key of `cryptography`
    algorithms: tuple[str, ...]


_documents: dict[str, tuple[float, dict[str, Any]]] = {}


def clear_cache() -> None:
    _documents.clear()
    connections.cache_clear()


def metadata() -> dict[str, Any]:
    """The provider's discovery document; raises RefusedError if it is another issuer's (OIDC
    Discovery 1.0, 4.3).
    """
    url = f"{settings.OIDC_ISSUER.rstrip('/')}/.well-known/openid-configuration"
    document = _read(url, _require_metadata, LIFETIME)
    if document["issuer"] != settings.OIDC_ISSUER:  # changed since it was read
        raise RefusedError(Reason.INVALID, "issuer differs")
    return document


def keys_of(token: str) -> Iterator[SigningKey]:
    """The key that the token's header names, then the same key read again, in case the token is not
    signed by the first: providers rotate keys, some under the old id or without one.
    """
    try:
        header = jwt.get_unverified_header(token)
    except (jwt.PyJWTError, UnicodeEncodeError) as error:  # JSON may contain lone surrogates
        raise RefusedError(Reason.INVALID, type(error).__name__) from error
    for age in (LIFETIME, MIN_REFRESH):
        if key := _choose(signing_keys(age), header.get("kid")):
            yield key


def signing_keys(max_age: float = LIFETIME) -> list[SigningKey]:
    document = _read(metadata()["jwks_uri"], _require_keys, max_age)
    return [key for jwk in document["keys"] if (key := _parse(jwk))]


def _choose(keys: list[SigningKey], key_id: object) -> SigningKey | None:
    if key_id is None:  # allowed if there is only one key
        return keys[0] if len(keys) == 1 else None
    return next((key for key in keys if key.key_id == key_id), None)


def _parse(jwk: object) -> SigningKey | None:
    if not isinstance(jwk, dict) or (jwk.get("use") or "sig") != "sig":
        return None
    if "d" in jwk:  # a published private key: everybody can sign with it
        return None
    allowed = ALGORITHMS.get(str(jwk.get("kty")), ())
    # A key that names its algorithm allows only that one; otherwise the token's header chooses.
    algorithms = tuple(name for name in allowed if (jwk.get("alg") or name) == name)
    if not algorithms:
        return None
    try:
        key = jwt.PyJWK.from_dict(jwk)  # without `alg` by its type and curve
    except (jwt.PyJWTError, ValueError, TypeError):
        return None
    return SigningKey(key.key_id, key.key, algorithms)


def _read(url: str, check: Callable[[dict[str, Any]], None], max_age: float) -> dict[str, Any]:
    read_at, document = _documents.get(url, (0.0, {}))
    if not document or time.monotonic() - read_at >= max_age:
        document = get_json(url)
        check(document)
        _documents[url] = (time.monotonic(), document)
    return document


def _require_metadata(document: dict[str, Any]) -> None:
    if document.get("issuer") != settings.OIDC_ISSUER:
        raise RefusedError(Reason.INVALID, "issuer differs")
    for name in ENDPOINTS:
        require_secure(document.get(name))
    if not isinstance(document.get(AUTH_METHODS) or [], list):
        raise RefusedError(Reason.INVALID, f"{AUTH_METHODS} is not a list")


def _require_keys(document: dict[str, Any]) -> None:
    if not isinstance(document.get("keys"), list):
        raise RefusedError(Reason.INVALID, "no keys")
