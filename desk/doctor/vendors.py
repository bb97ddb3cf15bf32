"""Whether each account has what it needs, asked of its vendor without a message."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from django.utils import timezone, translation

from accounts.models import Company
from channels import registry, wording
from channels.providers.base import Check, Provider, Wanted
from channels.vendor_records import ProviderAlert
from desk import vendor_words
from desk.doctor.finding import Finding, failed, passed

NONE = "Set the credentials of at least one provider: see “Connecting the vendors” in the docs."
WRONG = "Compare the account's variables with the vendor's console, then restart every process."
AWAY = "The vendor did not answer: see its status page, and that this machine may reach it."
MOST_COUNTRIES = 30
RECENTLY = timedelta(days=1)


def providers() -> list[Finding]:
    """Accounts that live in processes of their own are asked there: `programs.binds`."""
    live, hosted = registry.live_providers(), registry.hosted()
    if not live:
        return [failed("providers", "none is configured: nothing can be sent", NONE)]
    mine = {name: one for name, one in live.items() if name not in hosted}
    with translation.override("en"):
        found = examine(mine)
        return [one for name, checks in found.items() for one in _findings(name, checks)]


def examine(accounts: Mapping[str, Provider]) -> dict[str, list[Check]]:
    """What each of them lacks and has, by its name; the vendors are asked at the same time."""
    wanted = {name: Wanted(registry.hook_url(name), countries()) for name in accounts}
    with ThreadPoolExecutor(max(1, len(accounts)), thread_name_prefix="vendor") as pool:
        asked = {name: pool.submit(one.checks, wanted[name]) for name, one in accounts.items()}
        return {name: _as_alerted(name, one.result()) for name, one in asked.items()}


def countries() -> tuple[str, ...]:
    """Those of the companies, which are where their messages go."""
    known = Company.objects.filter(status=Company.Status.APPROVED).exclude(country="")
    return tuple(known.order_by("country").values_list("country", flat=True).distinct())[
        :MOST_COUNTRIES
    ]


def _as_alerted(name: str, checks: list[Check]) -> list[Check]:
    """A balance that the vendor does not tell when asked, it may have told with a send."""
    if not any(one.topic == "balance" and one.ok is None for one in checks):
        return checks
    since = timezone.now() - RECENTLY
    low = ProviderAlert.objects.filter(provider=name, code="balance_low", at__gte=since)
    latest = low.order_by("-at").first()
    if latest is None:
        return checks
    told = Check("balance", False, f"{latest.detail}, {latest.at:%d.%m %H:%M} UTC")
    return [told if one.topic == "balance" else one for one in checks]


def _findings(name: str, checks: list[Check]) -> list[Finding]:
    title = str(wording.provider_title(name))
    first, *others = checks
    if not first.ok:
        return [failed(title, first.detail, AWAY if first.topic == "away" else WRONG)]
    unknown = [str(vendor_words.title(one)) for one in others if one.ok is None]
    detail = "the account works"
    if unknown:
        detail += f"; the vendor does not tell: {', '.join(unknown)}"
    lacking = [
        failed(f"{title}: {vendor_words.title(one)}", one.detail or "missing", _cure(name, one))
        for one in others
        if one.ok is False
    ]
    return [passed(title, detail), *lacking]


def _cure(name: str, check: Check) -> str:
    return str(vendor_words.cure(name, check))
