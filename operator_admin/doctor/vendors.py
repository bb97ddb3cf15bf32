"""Checks each account's setup with its vendor, without sending a message."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta

from django.db import DatabaseError
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from psycopg_pool import PoolTimeout

from accounts.models import Company
from catalogue.texts import StrOrPromise
from channels.models import ProviderAlert, VendorApproval
from channels.providers.base import AccountRequirements, Check, Provider, SendError
from channels.providers.vendors import VENDORS, vendor_of
from channels.vendor_accounts import approvals, error_texts, registry
from operator_admin.doctor.finding import Finding, failed, passed
from storage.sessions import release_connection

TITLES: dict[str, StrOrPromise] = {
    "account": gettext_lazy("the account and its token"),
    "away": gettext_lazy("connection"),
    "bind": gettext_lazy("the bind"),
    "webhook": gettext_lazy("the webhook"),
    "webhook_address": gettext_lazy("the webhook's address"),
    "webhook_fields": gettext_lazy("what the webhook subscribes to"),
    "balance": gettext_lazy("the balance"),
    "sender": gettext_lazy("the sender"),
} | {topic: title for vendor in VENDORS.values() for topic, title in vendor.checks.items()}

CREDENTIALS_REMEDY = gettext_lazy(
    "Compare the account's variables with the vendor's console, then restart every process."
)
VENDOR_AWAY_REMEDY = gettext_lazy(
    "The vendor did not answer: see its status page, and check that this machine can reach it."
)
_TEST_AGAIN = gettext_lazy("Test again; if it still fails, check it in the vendor's console.")

REMEDIES = {
    (name, topic): text
    for name, vendor in VENDORS.items()
    for topic, text in vendor.remedies.items()
}


def check_title(check: Check) -> StrOrPromise:
    return TITLES.get(check.topic, check.topic)


def check_remedy(name: str, check: Check) -> StrOrPromise:
    """The remedy for a check that failed or is unknown."""
    if check.topic in {"account", "away"}:
        return VENDOR_AWAY_REMEDY if check.topic == "away" else CREDENTIALS_REMEDY
    return REMEDIES.get((vendor_of(name), check.topic), _TEST_AGAIN)


NO_PROVIDER_REMEDY = gettext_lazy(
    "Set the credentials of at least one provider: see “Connecting the vendors” in the docs."
)
APPROVAL_REMEDY = gettext_lazy(
    "See the account's page in the admin, then the template or sender in the vendor's console."
)
MAX_COUNTRIES = 30
ALERT_WINDOW = timedelta(days=1)


def providers() -> list[Finding]:
    """Checks live accounts, except those with their own processes: see `processes.binds`."""
    live = registry.live_providers()
    hosted = registry.hosted_providers()
    if not live:
        return [
            failed("providers", _("none is configured: nothing can be sent"), NO_PROVIDER_REMEDY)
        ]
    accounts = {name: provider for name, provider in live.items() if name not in hosted}
    return [
        finding
        for name, checks in check_accounts(accounts, renew=True).items()
        for finding in _findings(name, checks)
    ]


def vendor_approvals() -> list[Finding]:
    """Checks that vendors still approve the templates and senders in use."""
    used = list(VendorApproval.objects.filter(is_used=True).order_by("provider", "name"))
    bad = [row for row in used if row.status in approvals.BAD]
    if bad:
        return [
            failed("vendor approvals", f"{row}: {row.status} {row.reason}".strip(), APPROVAL_REMEDY)
            for row in bad
        ]
    if not used:
        return [passed("vendor approvals", _("no vendor has been asked, or none has such a list"))]
    oldest = min(row.seen_at for row in used)
    return [
        passed(
            "vendor approvals",
            _("{count} in order, asked {seen:%d.%m %H:%M} UTC").format(
                count=len(used), seen=oldest
            ),
        )
    ]


def check_accounts(
    accounts: Mapping[str, Provider], *, renew: bool = False
) -> dict[str, list[Check]]:
    """The checks of each account by name; queries the vendors in parallel.

    With `renew`, settings that a vendor has dropped are first set up again.
    """
    expected = _load_expected()
    requirements = {
        name: AccountRequirements(registry.hook_url(name), expected.countries) for name in accounts
    }
    with ThreadPoolExecutor(max(1, len(accounts)), thread_name_prefix="vendor") as pool:
        futures = {
            name: pool.submit(_check, provider, requirements[name], renew=renew)
            for name, provider in accounts.items()
        }
        return {
            name: _with_balance_alert(future.result(), expected.low_balances.get(name))
            for name, future in futures.items()
        }


def _check(provider: Provider, requirements: AccountRequirements, *, renew: bool) -> list[Check]:
    if renew:
        with suppress(SendError):  # the checks will report it
            provider.renew(requirements)
    return provider.checks(requirements)


@dataclass(frozen=True, slots=True)
class _Expected:
    """Expectations read from the database; empty without it, so that checks still run."""

    countries: tuple[str, ...] = ()  # of approved companies, whose messages go there
    low_balances: Mapping[str, ProviderAlert] = field(default_factory=dict)


def _load_expected() -> _Expected:
    try:
        approved = Company.objects.filter(status=Company.Status.APPROVED).exclude(country="")
        countries = approved.order_by("country").values_list("country", flat=True).distinct()
        since = timezone.now() - ALERT_WINDOW
        low = ProviderAlert.objects.filter(code="balance_low", at__gte=since).order_by("at")
        return _Expected(tuple(countries[:MAX_COUNTRIES]), {alert.provider: alert for alert in low})
    except (DatabaseError, PoolTimeout):
        return _Expected()
    finally:
        # Called on a short-lived thread of the doctor, which would leak its connection.
        release_connection()


def _with_balance_alert(checks: list[Check], low: ProviderAlert | None) -> list[Check]:
    """Replaces an unknown balance with the last low-balance alert of a send."""
    if low is None:
        return checks
    alerted = Check("balance", False, f"{low.detail}, {low.at:%d.%m %H:%M} UTC")
    return [alerted if (check.topic, check.ok) == ("balance", None) else check for check in checks]


def _findings(name: str, checks: list[Check]) -> list[Finding]:
    title = str(error_texts.provider_title(name))
    first, *others = checks
    if not first.ok:
        remedy = VENDOR_AWAY_REMEDY if first.topic == "away" else CREDENTIALS_REMEDY
        return [failed(title, first.detail, remedy)]
    unknown = [str(check_title(check)) for check in others if check.ok is None]
    detail = _("the account works")
    if unknown:
        detail += _("; the vendor does not tell: {names}").format(names=", ".join(unknown))
    missing = [
        failed(
            f"{title}: {check_title(check)}",
            check.detail or _("missing"),
            check_remedy(name, check),
        )
        for check in others
        if check.ok is False
    ]
    return [passed(title, detail), *missing]
