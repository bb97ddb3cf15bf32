"""Exchanges the authorization code for tokens, and verifies the ID token's claims.

allauth's own check is not used: it accepts an ID token from the token endpoint without verifying
the signature, has no nonce, and lets the token choose the algorithm.
https://openid.net/specs/openid-connect-core-1_0.html#IDTokenValidation
"""

import hmac
from typing import Any
from urllib.parse import quote_plus

import jwt
from allauth.account.internal.emailkit import valid_email_or_none
from django.conf import settings

from accounts.oidc import discovery
from accounts.oidc.refusals import Reason, RefusedError
from accounts.sign_in.addresses import MAX_LENGTH
from parsing.characters import is_line, one_line
from parsing.integers import MAX, json_integer

TRUE = (True, "true", "True")  # Amazon Cognito and others write booleans as strings

Claims = dict[str, Any]


def email(claims: Claims) -> str:
    claim = claims.get("email")
    if not isinstance(claim, str) or len(claim) > MAX_LENGTH:
        return ""
    # A final dot stands for the DNS root, and is not part of an address.
    return valid_email_or_none(claim.removesuffix(".")) or ""


def is_email_verified(claims: Claims) -> bool:
    if "email_verified" in claims:
        return claims["email_verified"] in TRUE
    return bool(settings.OIDC_ASSUME_EMAIL_VERIFIED)


def name(claims: Claims) -> str:
    claim = claims.get("name")
    return one_line(claim)[:150] if isinstance(claim, str) else ""


def groups(claims: Claims) -> frozenset[str]:
    """The names of the groups; empty if the claim is missing, so that hiding it gains nothing.

    Raises RefusedError if the provider refers to another source for them, as Entra ID does beyond
    200 groups: an empty set would withdraw every right that they grant.
    """
    claim = _look_up(claims, settings.OIDC_GROUPS_CLAIM)
    if claim is None and settings.OIDC_ROLES and _is_elsewhere(claims, settings.OIDC_GROUPS_CLAIM):
        raise RefusedError(Reason.GROUPS_ELSEWHERE)
    return _texts_of(claim)


def _is_elsewhere(claims: Claims, path: str) -> bool:
    """Whether the claim is aggregated or distributed (OpenID Connect Core, 5.6.2)."""
    names = claims.get("_claim_names")
    return isinstance(names, dict) and not names.keys().isdisjoint({path, path.partition(".")[0]})


def _texts_of(claim: object) -> frozenset[str]:
    """The texts of a claim; IdentityServer and others write a list of one item as the item."""
    several = [claim] if isinstance(claim, str) else claim
    if not isinstance(several, list):
        return frozenset()
    return frozenset(text for text in several if isinstance(text, str))


def _look_up(claims: Claims, path: str) -> object:
    """The value of a claim, whose name may have dots (`https://example.com/groups`), or the value
    at a path, like Keycloak's `realm_access.roles`.
    """
    if path in claims:
        return claims[path]
    value: object = claims
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def has_trusted_factor(claims: Claims) -> bool:
    """Whether `amr` or `acr` has a value that the operator trusts as proof of a second factor."""
    is_named = bool(_texts_of(claims.get("amr")) & settings.OIDC_TRUSTED_AMR)
    acr = claims.get("acr")
    return is_named or (isinstance(acr, str) and acr in settings.OIDC_TRUSTED_ACR)


def authenticated_at(claims: Claims) -> float:
    """When the person last authenticated at the provider, in Unix seconds; 0 if unknown."""
    claim = claims.get("auth_time")
    seconds = json_integer(claim // 1 if isinstance(claim, float) else claim)
    return float(seconds) if seconds is not None and 0 <= seconds <= MAX else 0.0


LEEWAY = 60  # seconds of clock skew
MAX_SUBJECT = 191  # characters that allauth's column holds; the standard allows 255
REQUIRED = ["iss", "sub", "aud", "exp", "iat"]
WRONG_KEY_ERRORS = (jwt.InvalidSignatureError, jwt.InvalidAlgorithmError, jwt.InvalidKeyError)


def exchange(*, code: str, verifier: str, redirect_uri: str) -> dict[str, Any]:
    provider = discovery.metadata()
    fields = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect_uri,
        "code_verifier": verifier,
    }
    auth = _basic_auth(provider)
    if auth is None:
        fields["client_id"] = settings.OIDC_CLIENT_ID
        if settings.OIDC_CLIENT_SECRET:
            fields["client_secret"] = settings.OIDC_CLIENT_SECRET
    return discovery.post_form(provider["token_endpoint"], fields, auth)


def _basic_auth(provider: dict[str, Any]) -> tuple[str, str] | None:
    """Client id and secret, form-encoded (RFC 6749, 2.3.1); None if the body has them instead."""
    methods = provider.get(discovery.AUTH_METHODS) or ["client_secret_basic"]
    if not settings.OIDC_CLIENT_SECRET or "client_secret_basic" not in methods:
        return None
    return quote_plus(settings.OIDC_CLIENT_ID), quote_plus(settings.OIDC_CLIENT_SECRET)


def claims_of(tokens: dict[str, Any], *, nonce: str) -> dict[str, Any]:
    """The claims of the ID token, with those of the UserInfo endpoint that it lacks."""
    claims = verify(str(tokens.get("id_token", "")), nonce=nonce)
    url = discovery.metadata().get("userinfo_endpoint")
    is_complete = {"email", settings.OIDC_GROUPS_CLAIM.partition(".")[0]} <= claims.keys()
    if is_complete or not url or not tokens.get("access_token"):
        return claims
    further = discovery.get_json(url, bearer=str(tokens["access_token"]))
    if further.get("sub") != claims["sub"]:  # Core 5.3.2: otherwise it describes somebody else
        raise RefusedError(Reason.INVALID, "user information of another person")
    return merge(claims, further)


def merge(claims: Claims, further: Claims) -> dict[str, Any]:
    """The ID token's claims, completed by `further`, except `email_verified` of another address."""
    if "email" in claims and further.get("email") != claims["email"]:
        further = {name: claim for name, claim in further.items() if name != "email_verified"}
    return {**further, **claims}


def verify(token: str, *, nonce: str) -> dict[str, Any]:
    claims = _signed_claims(token)
    claimed = str(claims.get("nonce", "")).encode(errors="replace")  # JSON has lone surrogates
    if not hmac.compare_digest(claimed, nonce.encode()):
        raise RefusedError(Reason.INVALID, "nonce differs")
    if not (0 < len(claims["sub"]) <= MAX_SUBJECT and is_line(claims["sub"])):
        raise RefusedError(Reason.INVALID, "sub is empty, too long or not one line")
    is_for_several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if claims.get("azp", None if is_for_several else settings.OIDC_CLIENT_ID) != (
        settings.OIDC_CLIENT_ID
    ):
        raise RefusedError(Reason.INVALID, "issued to another client")
    return claims


def _signed_claims(token: str) -> Claims:
    detail = "no such key"
    for key in discovery.keys_of(token):
        try:
            claims: Claims = jwt.decode(
                token,
                key=key.key,
                algorithms=key.algorithms,
                audience=settings.OIDC_CLIENT_ID,
                issuer=settings.OIDC_ISSUER,
                leeway=LEEWAY,
                options={"require": REQUIRED},
            )
        except jwt.PyJWTError as error:
            detail = type(error).__name__
            if not isinstance(error, WRONG_KEY_ERRORS):
                break
        else:
            return claims
    raise RefusedError(Reason.INVALID, detail)
