"""The code for tokens, and the ID token for claims that can be trusted.

allauth's own check is not used: it takes an ID token from the token endpoint without its signature,
knows no nonce, and lets the token name its algorithm.
https://openid.net/specs/openid-connect-core-1_0.html#IDTokenValidation
"""

import hmac
from typing import Any
from urllib.parse import quote_plus

import jwt
from django.conf import settings

from accounts.oidc import discovery, http
from accounts.oidc.refusals import Reason, RefusedError

LEEWAY = 60  # seconds that the clocks may differ
MAX_SUBJECT = 191  # characters that allauth's column holds; the standard allows 255
REQUIRED = ["iss", "sub", "aud", "exp", "iat"]


def exchange(*, code: str, verifier: str, redirect_uri: str) -> dict[str, Any]:
    found = discovery.metadata()
    fields = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect_uri,
        "code_verifier": verifier,
    }
    auth = _basic_auth(found)
    if auth is None:
        fields["client_id"] = settings.OIDC_CLIENT_ID
        if settings.OIDC_CLIENT_SECRET:
            fields["client_secret"] = settings.OIDC_CLIENT_SECRET
    return http.post_form(found["token_endpoint"], fields, auth)


def _basic_auth(found: dict[str, Any]) -> tuple[str, str] | None:
    """RFC 6749 2.3.1: both are form-encoded first, which requests does not do."""
    methods = found.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    if not settings.OIDC_CLIENT_SECRET or "client_secret_basic" not in methods:
        return None
    return quote_plus(settings.OIDC_CLIENT_ID), quote_plus(settings.OIDC_CLIENT_SECRET)


def claims_of(tokens: dict[str, Any], *, nonce: str) -> dict[str, Any]:
    """The claims of the ID token, with those of the user information endpoint that it lacks."""
    claims = verify(str(tokens.get("id_token", "")), nonce=nonce)
    url = discovery.metadata().get("userinfo_endpoint")
    is_complete = {"email", settings.OIDC_GROUPS_CLAIM.partition(".")[0]} <= claims.keys()
    if is_complete or not url or not tokens.get("access_token"):
        return claims
    further = http.get_json(url, bearer=str(tokens["access_token"]))
    if further.get("sub") != claims["sub"]:  # Core 5.3.2: else it is about somebody else
        raise RefusedError(Reason.INVALID, "user information of another person")
    return further | claims


def verify(token: str, *, nonce: str) -> dict[str, Any]:
    key = discovery.signing_key(token)
    try:
        claims: dict[str, Any] = jwt.decode(
            token,
            key=key.key,
            algorithms=key.algorithms,
            audience=settings.OIDC_CLIENT_ID,
            issuer=settings.OIDC_ISSUER,
            leeway=LEEWAY,
            options={"require": REQUIRED},
        )
    except jwt.PyJWTError as error:
        raise RefusedError(Reason.INVALID, type(error).__name__) from error
    if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
        raise RefusedError(Reason.INVALID, "nonce differs")
    if not 0 < len(claims["sub"]) <= MAX_SUBJECT:
        raise RefusedError(Reason.INVALID, "sub is empty or too long")
    is_for_several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if claims.get("azp", None if is_for_several else settings.OIDC_CLIENT_ID) != (
        settings.OIDC_CLIENT_ID
    ):
        raise RefusedError(Reason.INVALID, "issued to another client")
    return claims
