"""Proves a restored copy of the database after messages to be sent were held back."""

from collections.abc import Iterable, Iterator
from typing import Any

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from accounts import purges
from accounts.sign_in import mfa
from channels import full_reconciliation
from operator_admin.backup.hold_back import count_unsent
from operator_admin.backup.manifest import AVAILABLE, HELD, Sums, token_sums
from operator_admin.backup.postgres import other_sessions
from operator_admin.doctor.finding import Finding, failed, finding, passed
from persons import erasure_list
from persons.erasure import reapply_erasures
from storage.schema_changes.runs import unapplied_migrations
from storage.statements.queries import fetch_tuples, fetch_value
from webhooks.models import Endpoint

_SINCE = """
SELECT COALESCE(sum(amount) FILTER (WHERE kind = 'release'), 0),
       COALESCE(sum(amount) FILTER (WHERE kind = 'capture'), 0)
FROM billing_transfer WHERE id > %s
"""
_LAST = "SELECT COALESCE(max(id), 0) FROM billing_transfer"
WRONG_BOOKS_REMEDY = "Do not open this copy: use an older backup, and keep this one to be examined."


def last_transfer() -> int:
    return int(fetch_value(_LAST))


def prove(before: Sums, last_id: int, *, erasures: Iterable[str]) -> Iterator[Finding]:
    """Yields the findings about a restored copy.

    `before`: the sums of tokens in the backup; `last_id`: the id of its last transfer; `erasures`:
    lines of a newer list than the copy's own, or nothing.
    """
    yield _migrations()
    # Deletes rows whose retention has ended since the backup.
    yield passed("retention", f"{purges.purge()} expired rows deleted")
    yield _erasures(erasures)
    yield _ledger()
    yield _tokens(before, last_id)
    yield _nothing_waits()
    yield _keys()
    yield _sessions()


def _migrations() -> Finding:
    missing = unapplied_migrations()
    return finding("migrations", ", ".join(missing) or "all applied", "", ok=not missing)


def _erasures(lines: Iterable[str]) -> Finding:
    """Repeats the erasures made since the backup."""
    try:
        read = erasure_list.load(lines)
    except ValueError as error:
        return failed("erasures", str(error), "Name a list that `reapply_erasures --list` wrote.")
    result = reapply_erasures()
    detail = f"{read} entries read, {result.erased} persons erased again"
    if result.unfinished:
        detail += f", {result.unfinished} whose codes can still be entered"
    if result.unknown:
        detail += f", {result.unknown} under a key that WEBHOOK_KEYS lacks"
    remedy = (
        "Append the key to WEBHOOK_KEYS, or wait until the codes have expired; then "
        "`manage.py restore --already-restored --prove`."
    )
    return finding("erasures", detail, remedy, ok=not (result.unfinished or result.unknown))


def _ledger() -> Finding:
    breaches = full_reconciliation.breaches()
    text = "; ".join(f"{breach.check}: {breach.subject}" for breach in breaches[:5])
    detail = text or f"{full_reconciliation.NUMBER_OF_CHECKS} checks of the books, no breach"
    return finding("ledger", detail, WRONG_BOOKS_REMEDY, ok=not breaches)


def _tokens(before: Sums, last_id: int) -> Finding:
    """Checks that holding back released holds or charged them with proof, and moved no more."""
    [(released, captured)] = fetch_tuples(_SINCE, [last_id])
    after = token_sums()
    expected = int(before[AVAILABLE]) + released, int(before[HELD]) - released - captured
    tokens = int(after[AVAILABLE]), int(after[HELD])
    detail = (
        f"available {before[AVAILABLE]} + {released} returned = {tokens[0]}; "
        f"held {before[HELD]} - {released} returned - {captured} charged by proof = {tokens[1]}"
    )
    return finding("tokens", detail, WRONG_BOOKS_REMEDY, ok=tokens == expected and tokens[1] == 0)


def _nothing_waits() -> Finding:
    count = count_unsent()
    remedy = "Run `manage.py restore --already-restored` again before any process starts."
    return finding("nothing waits", f"{count} to be sent", remedy, ok=not count)


def _keys() -> Finding:
    remedy = "Put the keys back into the settings: see docs/operations/backup.md."
    second_factors = sum(
        not _is_readable(data)
        for data in Authenticator.objects.values_list("data", flat=True).iterator()
    )
    endpoints = Endpoint.objects.filter(deleted_at=None).exclude(
        key_id__in=list(settings.WEBHOOK_KEYS)
    )
    unsigned = endpoints.count()
    detail = f"{second_factors} second factors unreadable, {unsigned} webhooks without their key"
    return finding("keys", detail, remedy, ok=not (second_factors or unsigned))


def _is_readable(data: dict[str, Any]) -> bool:
    try:
        for name in mfa.SECRET_FIELDS:
            mfa.decrypt(data.get(name, ""))
    except ImproperlyConfigured:
        return False
    return True


def _sessions() -> Finding:
    others = sorted(set(other_sessions()))
    remedy = "Stop them and restore again: they may have read or sent what the copy held."
    return finding("alone", ", ".join(others) or "nobody else connected", remedy, ok=not others)
