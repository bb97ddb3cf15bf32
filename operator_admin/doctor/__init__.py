"""Diagnoses the service: runs every check, and says what to do about failed ones."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from operator_admin.doctor import (
    backlogs,
    key_rotation,
    money,
    processes,
    public_access,
    stores,
    vendors,
)
from operator_admin.doctor.finding import Finding, failed

Check = Callable[[], Finding | list[Finding]]

LOCAL_CHECKS: list[Check] = [
    stores.settings_are_sound,
    stores.legal_addresses,
    stores.redis,
    stores.redis_memory,
    stores.redis_persistence,
    backlogs.clicks,
    backlogs.click_copy,
    processes.broker,
    processes.static_files,
    processes.translations,
    public_access.identity_roles,
]
DATABASE_CHECKS: list[Check] = [
    stores.database_texts,
    stores.migrations,
    stores.partitions_ahead,
    stores.archives,
    stores.database_role,
    stores.pooler,
    stores.clock,
    processes.web,
    processes.worker,
    processes.beat,
    processes.binds,
    key_rotation.key_rings,
    vendors.vendor_approvals,
    money.ledger,
    money.seals,
    backlogs.queue,
    backlogs.outboxes,
    public_access.operators,
    money.bank_statement,
]
NETWORK_CHECKS: list[Check] = [
    public_access.mail_server,
    public_access.public_url,
    public_access.proxies,
    public_access.short_host,
    public_access.certificates,
    vendors.providers,
    public_access.identity_provider,
    money.gateway_credentials,
]
CRASH_REMEDY = gettext_lazy(
    "Fix the checks above first; if this persists, see the log and report it."
)


def run_checks() -> Iterator[Finding]:
    """Runs network checks in parallel; waits for an unreachable database only once."""
    with ThreadPoolExecutor(len(NETWORK_CHECKS), thread_name_prefix="doctor") as pool:
        language = translation.get_language()
        futures = [pool.submit(_run_in, language, check) for check in NETWORK_CHECKS]
        (database,) = run(stores.database)
        yield database
        for check in DATABASE_CHECKS:
            yield from run(check) if database.ok else [_skipped_finding(check)]
        for check in LOCAL_CHECKS:
            yield from run(check)
        for future in futures:
            yield from future.result()


def _skipped_finding(check: Check) -> Finding:
    return failed(
        _check_name(check), _("not known without the database"), _("Fix `database` first.")
    )


def _check_name(check: Check) -> str:
    return check.__name__.replace("_", " ")


def _run_in(language: str | None, check: Check) -> list[Finding]:
    """Runs a check in a language, on a thread, which does not inherit that of its caller."""
    with translation.override(language):
        return run(check)


def run(check: Check) -> list[Finding]:
    """Runs one check; a crash is also a finding."""
    try:
        result = check()
    except Exception as error:  # a crash must not hide the other checks
        return [
            failed(
                _check_name(check),
                _("could not be checked: {error}").format(error=type(error).__name__),
                CRASH_REMEDY,
            )
        ]
    return result if isinstance(result, list) else [result]
