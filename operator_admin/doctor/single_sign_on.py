"""Checks of the identity provider, and of what OIDC_ROLES names; nothing where none is set."""

from django.conf import settings
from django.contrib.auth.models import Group

from accounts.models import Company
from accounts.oidc import discovery
from accounts.oidc.refusals import RefusedError
from config.environment.oidc_settings import STAFF, SUPERUSER
from operator_admin.doctor.finding import Finding, failed, passed

PROVIDER, ROLES = "single sign-on", "sign-on roles"


def provider() -> list[Finding]:
    """Reads what the provider publishes, as a sign-in does."""
    if not settings.OIDC_ISSUER:
        return []
    try:
        discovery.forget()
        found, keys = discovery.metadata(), discovery.signing_keys()
    except RefusedError as refused:
        cure = (
            "OIDC_ISSUER must be the `issuer` that the provider writes, to the last slash: "
            f"curl {settings.OIDC_ISSUER.rstrip('/')}/.well-known/openid-configuration"
        )
        return [failed(PROVIDER, f"{settings.OIDC_ISSUER}: {refused.detail}", cure)]
    if not keys:
        cure = f"Have it sign with one of {', '.join(sum(discovery.ALGORITHMS.values(), ()))}."
        return [failed(PROVIDER, f"{settings.OIDC_ISSUER} has no key that is accepted", cure)]
    methods = found.get("code_challenge_methods_supported", ["S256"])
    if "S256" not in methods:
        cure = "Allow PKCE with S256 there."
        return [failed(PROVIDER, f"{settings.OIDC_ISSUER} refuses PKCE with S256", cure)]
    return [passed(PROVIDER, f"{settings.OIDC_ISSUER}, {len(keys)} keys")]


def roles() -> list[Finding]:
    """A company or a group that does not exist grants nothing, in silence."""
    if not settings.OIDC_ROLES:
        return []
    missing = [*_missing_companies(), *_missing_groups()]
    if missing:
        cure = "Mend OIDC_ROLES, or create them in the admin: until then they grant nothing."
        return [failed(ROLES, f"there is no {', no '.join(missing)}", cure)]
    return [passed(ROLES, f"{len(settings.OIDC_ROLES)} rules")]


def _missing_companies() -> list[str]:
    wanted = {int(one.target) for one in settings.OIDC_ROLES if one.role not in {STAFF, SUPERUSER}}
    known = Company.objects.filter(pk__in=wanted).values_list("pk", flat=True)
    return [f"company {pk}" for pk in sorted(wanted - set(known))]


def _missing_groups() -> list[str]:
    wanted = {one.target for one in settings.OIDC_ROLES if one.role == STAFF and one.target}
    known = Group.objects.filter(name__in=wanted).values_list("name", flat=True)
    return [f"group {name}" for name in sorted(wanted - set(known))]
