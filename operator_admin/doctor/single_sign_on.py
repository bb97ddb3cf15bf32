"""Checks of the identity provider, and of what OIDC_ROLES names; nothing where none is set."""

from django.conf import settings
from django.contrib.auth.models import Group
from django.utils.translation import gettext as _

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
        cure = _(
            "OIDC_ISSUER must be the `issuer` that the provider writes, to the last slash: "
            "curl {issuer}/.well-known/openid-configuration"
        ).format(issuer=settings.OIDC_ISSUER.rstrip("/"))
        return [failed(PROVIDER, f"{settings.OIDC_ISSUER}: {refused.detail}", cure)]
    if not keys:
        cure = _("Have it sign with one of {names}.").format(
            names=", ".join(sum(discovery.ALGORITHMS.values(), ()))
        )
        return [
            failed(
                PROVIDER,
                _("{issuer} has no key that is accepted").format(issuer=settings.OIDC_ISSUER),
                cure,
            )
        ]
    methods = found.get("code_challenge_methods_supported", ["S256"])
    if "S256" not in methods:
        cure = _("Allow PKCE with S256 there.")
        return [
            failed(
                PROVIDER,
                _("{issuer} refuses PKCE with S256").format(issuer=settings.OIDC_ISSUER),
                cure,
            )
        ]
    return [
        passed(
            PROVIDER,
            _("{issuer}, {count} keys").format(issuer=settings.OIDC_ISSUER, count=len(keys)),
        )
    ]


def roles() -> list[Finding]:
    """A company or a group that does not exist grants nothing, in silence."""
    if not settings.OIDC_ROLES:
        return []
    missing = [*_missing_companies(), *_missing_groups()]
    if missing:
        cure = _("Mend OIDC_ROLES, or create them in the admin: until then they grant nothing.")
        return [failed(ROLES, _("there is no {names}").format(names=", no ".join(missing)), cure)]
    return [passed(ROLES, _("{count} rules").format(count=len(settings.OIDC_ROLES)))]


def _missing_companies() -> list[str]:
    wanted = {int(one.target) for one in settings.OIDC_ROLES if one.role not in {STAFF, SUPERUSER}}
    known = Company.objects.filter(pk__in=wanted).values_list("pk", flat=True)
    return [f"company {pk}" for pk in sorted(wanted - set(known))]


def _missing_groups() -> list[str]:
    wanted = {one.target for one in settings.OIDC_ROLES if one.role == STAFF and one.target}
    known = Group.objects.filter(name__in=wanted).values_list("name", flat=True)
    return [f"group {name}" for name in sorted(wanted - set(known))]
