"""Whether each account has what it needs, asked of its vendor without a message."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta

from django.db import DatabaseError, connection
from django.utils import timezone, translation
from psycopg_pool import PoolTimeout

from accounts.models import Company
from channels.models import ProviderAlert
from channels.providers.base import AccountRequirements, Check, Provider
from channels.vendor_accounts import error_texts, registry
from desk.doctor import vendor_texts
from desk.doctor.finding import Finding, failed, passed

NO_PROVIDER_CURE = (
    "Set the credentials of at least one provider: see “Connecting the vendors” in the docs."
)
CREDENTIALS_CURE = (
    "Compare the account's variables with the vendor's console, then restart every process."
)
VENDOR_AWAY_CURE = (
    "The vendor did not answer: see its status page, and that this machine may reach it."
)
MAX_COUNTRIES = 30
ALERT_WINDOW = timedelta(days=1)


def providers() -> list[Finding]:
    """Accounts that live in processes of their own are asked there: `programs.binds`."""
    live, hosted = registry.live_providers(), registry.hosted_providers()
    if not live:
        return [failed("providers", "none is configured: nothing can be sent", NO_PROVIDER_CURE)]
    mine = {name: one for name, one in live.items() if name not in hosted}
    with translation.override("en"):
        found = check_accounts(mine)
        return [one for name, checks in found.items() for one in _findings(name, checks)]


def check_accounts(accounts: Mapping[str, Provider]) -> dict[str, list[Check]]:
    """What each of them lacks and has, by its name; the vendors are asked at the same time."""
    ours = _load_expected()
    wanted = {
        name: AccountRequirements(registry.hook_url(name), ours.countries) for name in accounts
    }
    with ThreadPoolExecutor(max(1, len(accounts)), thread_name_prefix="vendor") as pool:
        asked = {name: pool.submit(one.checks, wanted[name]) for name, one in accounts.items()}
        return {
            name: _with_balance_alert(one.result(), ours.low_balances.get(name))
            for name, one in asked.items()
        }


@dataclass(frozen=True, slots=True)
class _Expected:
    """What the database knows of the accounts; vendors can be asked without it as well."""

    countries: tuple[str, ...] = ()  # of the companies, which is where their messages go
    low_balances: Mapping[str, ProviderAlert] = field(default_factory=dict)


def _load_expected() -> _Expected:
    try:
        approved = Company.objects.filter(status=Company.Status.APPROVED).exclude(country="")
        countries = approved.order_by("country").values_list("country", flat=True).distinct()
        since = timezone.now() - ALERT_WINDOW
        low = ProviderAlert.objects.filter(code="balance_low", at__gte=since).order_by("at")
        return _Expected(tuple(countries[:MAX_COUNTRIES]), {one.provider: one for one in low})
    except (DatabaseError, PoolTimeout):
        return _Expected()
    finally:
        # The doctor asks on a thread that is about to end: its connection must not be lost with it.
        if not connection.in_atomic_block:
            connection.close()


def _with_balance_alert(checks: list[Check], low: ProviderAlert | None) -> list[Check]:
    """A balance that the vendor does not tell when asked, it may have told with a send."""
    if low is None:
        return checks
    told = Check("balance", False, f"{low.detail}, {low.at:%d.%m %H:%M} UTC")
    return [told if (one.topic, one.ok) == ("balance", None) else one for one in checks]


def _findings(name: str, checks: list[Check]) -> list[Finding]:
    title = str(error_texts.provider_title(name))
    first, *others = checks
    if not first.ok:
        return [
            failed(
                title, first.detail, VENDOR_AWAY_CURE if first.topic == "away" else CREDENTIALS_CURE
            )
        ]
    unknown = [str(vendor_texts.title(one)) for one in others if one.ok is None]
    detail = "the account works"
    if unknown:
        detail += f"; the vendor does not tell: {', '.join(unknown)}"
    lacking = [
        failed(f"{title}: {vendor_texts.title(one)}", one.detail or "missing", _cure(name, one))
        for one in others
        if one.ok is False
    ]
    return [passed(title, detail), *lacking]


def _cure(name: str, check: Check) -> str:
    return str(vendor_texts.cure(name, check))
