"""What the claims of a verified ID token say: address, groups, second factor, time."""

from typing import Any

from allauth.account.internal.emailkit import valid_email_or_none
from django.conf import settings

from accounts.oidc.refusals import Reason, RefusedError
from config.input.integers import MAX, json_integer

TRUE = (True, "true", "True")  # Amazon Cognito and others write booleans as strings

Claims = dict[str, Any]


def email(claims: Claims) -> str:
    found = claims.get("email")
    # A final dot is of the DNS root, and of no address.
    return (valid_email_or_none(found.removesuffix(".")) or "") if isinstance(found, str) else ""


def is_email_verified(claims: Claims) -> bool:
    if "email_verified" in claims:
        return claims["email_verified"] in TRUE
    return bool(settings.OIDC_ASSUME_EMAIL_VERIFIED)


def name(claims: Claims) -> str:
    found = claims.get("name")
    return found[:150] if isinstance(found, str) else ""


def groups(claims: Claims) -> frozenset[str]:
    """Their names; none when the claim is missing, so that whoever hides it gains nothing.

    Raises RefusedError when the provider says that they are elsewhere, as Entra ID of more than
    200: to take that for none would take every right that they give.
    """
    found = _look_up(claims, settings.OIDC_GROUPS_CLAIM)
    if found is None and settings.OIDC_ROLES and _is_elsewhere(claims, settings.OIDC_GROUPS_CLAIM):
        raise RefusedError(Reason.GROUPS_ELSEWHERE)
    return _several(found)


def _is_elsewhere(claims: Claims, path: str) -> bool:
    """OpenID Connect Core 5.6.2: an aggregated or distributed claim."""
    names = claims.get("_claim_names")
    return isinstance(names, dict) and not names.keys().isdisjoint({path, path.partition(".")[0]})


def _several(found: object) -> frozenset[str]:
    """IdentityServer and others write a list of one as the one itself."""
    several = [found] if isinstance(found, str) else found
    if not isinstance(several, list):
        return frozenset()
    return frozenset(one for one in several if isinstance(one, str))


def _look_up(claims: Claims, path: str) -> object:
    """`groups`, a claim whose name has dots (`https://example.com/groups`), or a path to it, as
    Keycloak's `realm_access.roles`.
    """
    if path in claims:
        return claims[path]
    found: object = claims
    for part in path.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def has_trusted_factor(claims: Claims) -> bool:
    """Whether the provider asked for a second factor, in words that the operator trusts."""
    is_named = bool(_several(claims.get("amr")) & settings.OIDC_TRUSTED_AMR)
    acr = claims.get("acr")
    return is_named or (isinstance(acr, str) and acr in settings.OIDC_TRUSTED_ACR)


def authenticated_at(claims: Claims) -> float:
    """When the person last proved to the provider who they are; 0 when it does not say."""
    found = claims.get("auth_time")
    seconds = json_integer(found // 1 if isinstance(found, float) else found)
    return float(seconds) if seconds is not None and 0 <= seconds <= MAX else 0.0
