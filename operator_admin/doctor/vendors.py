"""Checks each account's setup with its vendor, without sending a message."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta

from django.db import DatabaseError, connection
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from psycopg_pool import PoolTimeout

from accounts.models import Company
from channels.models import ProviderAlert, VendorApproval
from channels.providers.base import AccountRequirements, Check, Provider
from channels.vendor_accounts import approvals, error_texts, registry
from operator_admin.doctor import vendor_texts
from operator_admin.doctor.finding import Finding, failed, passed

NO_PROVIDER_CURE = gettext_lazy(
    "Set the credentials of at least one provider: see “Connecting the vendors” in the docs."
)
CREDENTIALS_CURE = gettext_lazy(
    "Compare the account's variables with the vendor's console, then restart every process."
)
VENDOR_AWAY_CURE = gettext_lazy(
    "The vendor did not answer: see its status page, and that this machine may reach it."
)
APPROVAL_CURE = gettext_lazy(
    "See the account's page in the admin, then the template or sender in the vendor's console."
)
MAX_COUNTRIES = 30
ALERT_WINDOW = timedelta(days=1)


def providers() -> list[Finding]:
    """Checks live accounts; `processes.binds` checks those with processes of their own."""
    live, hosted = registry.live_providers(), registry.hosted_providers()
    if not live:
        return [failed("providers", _("none is configured: nothing can be sent"), NO_PROVIDER_CURE)]
    accounts = {name: provider for name, provider in live.items() if name not in hosted}
    return [
        finding
        for name, checks in check_accounts(accounts).items()
        for finding in _findings(name, checks)
    ]


def vendor_approvals() -> list[Finding]:
    """Templates and senders in use that a vendor has taken out of use, as of its last answer."""
    used = list(VendorApproval.objects.filter(is_used=True).order_by("provider", "name"))
    bad = [one for one in used if one.status in approvals.BAD]
    if bad:
        return [
            failed("vendor approvals", f"{one}: {one.status} {one.reason}".strip(), APPROVAL_CURE)
            for one in bad
        ]
    if not used:
        return [passed("vendor approvals", _("no vendor has been asked, or none has such a list"))]
    seen = min(one.seen_at for one in used)
    return [
        passed(
            "vendor approvals",
            _("{count} in order, asked {seen:%d.%m %H:%M} UTC").format(count=len(used), seen=seen),
        )
    ]


def check_accounts(accounts: Mapping[str, Provider]) -> dict[str, list[Check]]:
    """Returns the checks of each account by name; queries the vendors in parallel."""
    expected = _load_expected()
    wanted = {
        name: AccountRequirements(registry.hook_url(name), expected.countries) for name in accounts
    }
    with ThreadPoolExecutor(max(1, len(accounts)), thread_name_prefix="vendor") as pool:
        futures = {
            name: pool.submit(provider.checks, wanted[name]) for name, provider in accounts.items()
        }
        return {
            name: _with_balance_alert(future.result(), expected.low_balances.get(name))
            for name, future in futures.items()
        }


@dataclass(frozen=True, slots=True)
class _Expected:
    """What the database knows about the accounts; optional, so checks run without it."""

    countries: tuple[str, ...] = ()  # of the companies, where their messages go
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
        # The doctor calls this on a short-lived thread, which would leak its connection.
        if not connection.in_atomic_block:
            connection.close()


def _with_balance_alert(checks: list[Check], low: ProviderAlert | None) -> list[Check]:
    """Fills an unknown balance from the last low-balance alert of a send."""
    if low is None:
        return checks
    alerted = Check("balance", False, f"{low.detail}, {low.at:%d.%m %H:%M} UTC")
    return [alerted if (check.topic, check.ok) == ("balance", None) else check for check in checks]


def _findings(name: str, checks: list[Check]) -> list[Finding]:
    title = str(error_texts.provider_title(name))
    first, *others = checks
    if not first.ok:
        return [
            failed(
                title, first.detail, VENDOR_AWAY_CURE if first.topic == "away" else CREDENTIALS_CURE
            )
        ]
    unknown = [str(vendor_texts.title(check)) for check in others if check.ok is None]
    detail = _("the account works")
    if unknown:
        detail += _("; the vendor does not tell: {names}").format(names=", ".join(unknown))
    missing = [
        failed(
            f"{title}: {vendor_texts.title(check)}",
            check.detail or _("missing"),
            _cure(name, check),
        )
        for check in others
        if check.ok is False
    ]
    return [passed(title, detail), *missing]


def _cure(name: str, check: Check) -> str:
    return str(vendor_texts.cure(name, check))
