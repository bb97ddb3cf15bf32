"""The conditions of alerts: our stores are checked every minute, others every 15 minutes."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import Count, Max
from django.utils import timezone, translation

from accounts.models import JobFailure
from catalogue.languages import page_languages
from channels import reconciliation
from channels.models import ProviderAlert
from channels.vendor_accounts import registry
from links.clicks import stream
from operator_admin import doctor, figures
from operator_admin.doctor import (
    key_rotation,
    processes,
    public_access,
    stores,
    vendors,
)
from storage import clickhouse

Details = dict[str, Any]
Problem = tuple[str, Details]  # the subject, the details
Condition = Callable[[], Iterator[Problem]]

MAX_SILENCE = 60.0  # seconds
LATE_CLICKS = 300.0  # seconds
MIN_CALLS = 20
MAX_FAILED = 0.2  # of the calls
MIN_FINAL = 50  # messages with a final state
MIN_DELIVERED = 0.7  # of the messages with a final state
LOW_DISK = 0.1  # of the disk's size
BALANCE_WINDOW = timedelta(days=1)


def no_heartbeat_of(kind: str) -> Condition:
    def condition() -> Iterator[Problem]:
        age = min((heartbeat.age for heartbeat in figures.heartbeats(kind)), default=None)
        if age is None or age > MAX_SILENCE:
            yield "", {"age": "∞" if age is None else round(age)}

    return condition


def bind_down() -> Iterator[Problem]:
    for name in registry.hosted_providers():
        alive = [heartbeat for heartbeat in figures.heartbeats(name) if heartbeat.is_alive]
        if not any(heartbeat.details.get("bound") for heartbeat in alive):
            yield name, {"alive": len(alive)}


def queue_older_than(due: str, oldest: str, limit: float) -> Condition:
    """A condition on a queue's figures: `limit` is the oldest entry's maximum age in seconds."""

    def condition() -> Iterator[Problem]:
        queue = figures.queue()
        if (age := getattr(queue, oldest) or 0.0) > limit:
            yield "", {"due": getattr(queue, due), "age": round(age)}

    return condition


def exceeds(figure: str, limit: int) -> Condition:
    def condition() -> Iterator[Problem]:
        if (count := getattr(figures.queue(), figure)) > limit:
            yield "", {"count": count}

    return condition


def provider_paused() -> Iterator[Problem]:
    live = registry.live_providers()
    for name, state in figures.account_states().items():
        if name in live and state.is_enabled and state.breaker != "closed":
            yield name, {"reason": state.reason}


def provider_fails() -> Iterator[Problem]:
    for account in figures.call_failures():
        if account.calls > MIN_CALLS and account.failures > MAX_FAILED * account.calls:
            yield account.account, {"calls": account.calls, "failures": account.failures}


def delivery_falls() -> Iterator[Problem]:
    for channel in figures.sends(timezone.now() - timedelta(minutes=30)):
        if channel.final > MIN_FINAL and channel.delivered < MIN_DELIVERED * channel.final:
            yield channel.channel, {"delivered": channel.delivered, "final": channel.final}


def balance_low() -> Iterator[Problem]:
    """Low balances in vendors' responses to sends; `account_broken` queries other vendors."""
    since = timezone.now() - BALANCE_WINDOW
    live = registry.live_providers()
    for alert in ProviderAlert.objects.filter(code="balance_low", at__gte=since).order_by("at"):
        if alert.provider in live:
            yield alert.provider, {"reason": alert.detail or alert.code}


def listener_down() -> Iterator[Problem]:
    alive = [heartbeat for heartbeat in figures.heartbeats("web") if heartbeat.is_alive]
    if not_listening := sum(heartbeat.details.get("listening") == 0 for heartbeat in alive):
        yield "", {"count": not_listening}


def redis_down() -> Iterator[Problem]:
    if stream.lag_seconds() is None:
        yield "", {}


def clicks_late() -> Iterator[Problem]:
    if (age := stream.lag_seconds() or 0.0) > LATE_CLICKS:
        yield "", {"age": round(age)}


def clickhouse_late() -> Iterator[Problem]:
    if not clickhouse.is_configured():
        return
    if (age := stream.sink_lag_seconds() or 0.0) > LATE_CLICKS:
        yield "", {"age": round(age)}


def ledger_breach() -> Iterator[Problem]:
    """Breaches found by the last scheduled checks; checking here again would double the load."""
    if breaches := reconciliation.recent_breaches():
        count_of_others = f" (+{len(breaches) - 3})" if len(breaches) > 3 else ""
        yield "", {"reason": "; ".join(breaches[:3]) + count_of_others}


def work_given_up() -> Iterator[Problem]:
    given_up = JobFailure.objects.exclude(gave_up_at=None).values("job").order_by("job")
    for row in given_up.annotate(count=Count("pk"), last_error=Max("error")):
        yield row["job"], {"count": row["count"], "error": row["last_error"]}


def disk_full() -> Iterator[Problem]:
    """Disks of this machine that are nearly full; a disk with two paths counts once."""
    devices: set[int] = set()
    for path in (settings.VAR_DIR, Path(tempfile.gettempdir()), Path("/")):
        if not path.exists() or (device := path.stat().st_dev) in devices:
            continue
        devices.add(device)
        usage = shutil.disk_usage(path)
        if usage.total and usage.free < LOW_DISK * usage.total:
            yield str(path), {"free": round(100 * usage.free / usage.total)}


# The doctor's checks without a rule of their own. Not `static_files`, which a machine with only
# workers does not have.
CHECKS: list[doctor.Check] = [
    stores.settings_are_sound,
    stores.legal_addresses,
    stores.migrations,
    stores.database_texts,
    stores.database_role,
    stores.clock,
    stores.redis_memory,
    stores.redis_persistence,
    processes.translations,
    public_access.operators,
    key_rotation.key_rings,
    public_access.mail_server,
    public_access.public_url,
    public_access.proxies,
    public_access.short_host,
]


def account_broken() -> Iterator[Problem]:
    hosted = registry.hosted_providers()  # `bind-down` covers these
    live = {
        name: provider for name, provider in registry.live_providers().items() if name not in hosted
    }
    with translation.override(page_languages.worldwide()):
        for name, checks in vendors.check_accounts(live, renew=True).items():
            bad = [check for check in checks if check.ok is False]
            texts = [f"{vendors.check_title(check)}: {check.detail or 'missing'}" for check in bad]
            if texts:
                yield name, {"reason": "; ".join(texts)[:500]}


def certificate_ends() -> Iterator[Problem]:
    with translation.override(page_languages.worldwide()):
        certificates = public_access.inspect()
    for certificate in certificates:
        if not certificate.is_good:
            days = certificate.detail if certificate.days is None else certificate.days
            yield certificate.host, {"days": days}


def failed_checks() -> Iterator[Problem]:
    with translation.override(page_languages.worldwide()):
        findings = [finding for check in CHECKS for finding in doctor.run(check)]
    for finding in findings:
        if not finding.ok:
            yield finding.name, {"reason": finding.detail[:300], "remedy": finding.remedy[:300]}
