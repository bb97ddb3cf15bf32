"""What is wrong by others' word: vendors, the mail server, our public addresses, the settings.

These call the network and change rarely, so they run every quarter of an hour.
"""

from collections.abc import Iterator

from django.utils import translation

from channels.vendor_accounts import registry
from operator_admin import doctor
from operator_admin.alerts.conditions import Condition, Problem
from operator_admin.doctor import (
    certificates,
    key_rotation,
    money,
    processes,
    public_access,
    stores,
    vendor_texts,
    vendors,
)

# Of the doctor's checks, those that no rule of their own covers. Not `static_files`: a machine with
# workers alone has none.
CHECKS: list[doctor.Check] = [
    stores.settings_are_sound,
    stores.legal_addresses,
    stores.migrations,
    stores.database_role,
    stores.clock,
    stores.redis_memory,
    stores.redis_persistence,
    processes.translations,
    money.operators,
    key_rotation.key_rings,
    public_access.mail_server,
    public_access.public_url,
    public_access.proxies,
    public_access.short_host,
]


def account_broken() -> Iterator[Problem]:
    hosted = registry.hosted_providers()  # `bind-down` covers these
    live = {name: one for name, one in registry.live_providers().items() if name not in hosted}
    with translation.override("en"):
        for name, checks in vendors.check_accounts(live).items():
            bad = [check for check in checks if check.ok is False]
            words = [f"{vendor_texts.title(one)}: {one.detail or 'missing'}" for one in bad]
            if words:
                yield name, {"said": "; ".join(words)[:500]}


def certificate_ends() -> Iterator[Problem]:
    with translation.override("en"):
        shown = certificates.inspect()
    for one in shown:
        if not one.is_good:
            yield one.host, {"days": one.detail if one.days is None else one.days}


def failed_checks() -> Iterator[Problem]:
    with translation.override("en"):
        findings = [finding for check in CHECKS for finding in doctor.run(check)]
    for finding in findings:
        if not finding.ok:
            yield finding.name, {"said": finding.detail[:300], "cure": finding.cure[:300]}


EXAMINATIONS: dict[str, Condition] = {
    "account-broken": account_broken,
    "certificate-ends": certificate_ends,
    "doctor": failed_checks,
}
