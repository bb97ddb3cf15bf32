"""Sign-in through an OpenID Connect provider, and what membership of its groups grants."""

from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from accounts.oidc.grants import COMPANY_ROLES, STAFF, SUPERUSER, Grant
from config.environment.addresses import proxy
from config.environment.variables import at_least, env

__all__ = [
    "OIDC_ASSUME_EMAIL_VERIFIED",
    "OIDC_CLIENT_ID",
    "OIDC_CLIENT_SECRET",
    "OIDC_GROUPS_CLAIM",
    "OIDC_ISSUER",
    "OIDC_NAME",
    "OIDC_PROXY",
    "OIDC_REQUIRED_FOR_ADMIN",
    "OIDC_ROLES",
    "OIDC_SCOPES",
    "OIDC_SESSION_AGE",
    "OIDC_TRUSTED_ACR",
    "OIDC_TRUSTED_AMR",
]

MAX_ISSUER = 200  # characters, the limit of allauth's column


def parse_roles(text: str) -> tuple[Grant, ...]:
    """Reads `group=superuser, group=staff:Support, group=developer:17`; names may contain `=`."""
    return tuple(_grant(grant.strip()) for grant in text.split(",") if grant.strip())


def _grant(text: str) -> Grant:
    group, is_there, right = (part.strip() for part in text.rpartition("="))
    role, _, target = (part.strip() for part in right.partition(":"))
    is_company_role = role in COMPANY_ROLES and target.isascii() and target.isdecimal()
    is_operator_role = (role == SUPERUSER and not target) or role == STAFF
    if not (is_there and group and (is_company_role or is_operator_role)):
        raise ImproperlyConfigured(
            f"OIDC_ROLES: {text!r} must be group=superuser, group=staff, group=staff:GROUP or "
            f"group=ROLE:COMPANY, with a ROLE of {', '.join(COMPANY_ROLES)} and the company's id"
        )
    return Grant(group, role, target)


def _issuer(text: str, *, is_production: bool) -> str:
    """The issuer exactly as in the provider's `iss`, including a final slash."""
    if not text:
        return ""
    url = urlsplit(text)
    schemes = {"https"} if is_production else {"https", "http"}
    if url.scheme not in schemes or not url.hostname or url.query or url.fragment:
        raise ImproperlyConfigured("OIDC_ISSUER must be an https:// address without a query")
    if len(text) > MAX_ISSUER:
        raise ImproperlyConfigured(f"OIDC_ISSUER must have {MAX_ISSUER} characters at most")
    return text


def _split_names(name: str, default: str = "") -> list[str]:
    return env.str(name, default).replace(",", " ").split()


_PRODUCTION = env.str("ENVIRONMENT", "production") == "production"
OIDC_ISSUER = _issuer(env.str("OIDC_ISSUER", ""), is_production=_PRODUCTION)
OIDC_CLIENT_ID = env.str("OIDC_CLIENT_ID", "")
OIDC_CLIENT_SECRET = env.str("OIDC_CLIENT_SECRET", "")
OIDC_NAME = env.str("OIDC_NAME", "") or urlsplit(OIDC_ISSUER).hostname or ""
OIDC_SCOPES = _split_names("OIDC_SCOPES", "openid email profile")
OIDC_GROUPS_CLAIM = env.str("OIDC_GROUPS_CLAIM", "") or "groups"
OIDC_ROLES = parse_roles(env.str("OIDC_ROLES", ""))
OIDC_ASSUME_EMAIL_VERIFIED = env.bool("OIDC_ASSUME_EMAIL_VERIFIED", False)
OIDC_TRUSTED_AMR = frozenset(_split_names("OIDC_TRUSTED_AMR"))
OIDC_TRUSTED_ACR = _split_names("OIDC_TRUSTED_ACR")
OIDC_SESSION_AGE = at_least(1, "OIDC_SESSION_HOURS", 8) * 3600
OIDC_REQUIRED_FOR_ADMIN = env.bool("OIDC_REQUIRED_FOR_ADMIN", False)
OIDC_PROXY = proxy("oidc")

if OIDC_ISSUER and not OIDC_CLIENT_ID:
    raise ImproperlyConfigured("OIDC_ISSUER needs OIDC_CLIENT_ID")
if OIDC_ISSUER and "openid" not in OIDC_SCOPES:
    raise ImproperlyConfigured("OIDC_SCOPES must contain openid")
if not OIDC_ISSUER and (OIDC_ROLES or OIDC_REQUIRED_FOR_ADMIN):
    raise ImproperlyConfigured("OIDC_ROLES and OIDC_REQUIRED_FOR_ADMIN need OIDC_ISSUER")
