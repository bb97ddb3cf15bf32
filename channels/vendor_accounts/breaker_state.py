"""Circuit breakers stored in the database for all processes; opening one notifies operators."""

from dataclasses import dataclass

import structlog
from django.db import connection, transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from channels.models import ProviderAccount
from channels.vendor_accounts import error_texts, operator_mail, registry
from channels.vendor_accounts.circuit_breaker import Cause, Change, Close, Release, Trip
from config.monitoring import metrics
from config.texts import StrOrPromise

log = structlog.get_logger(__name__)

CAUSES: dict[str, StrOrPromise] = {
    Cause.REFUSED: _("the provider refuses the account"),
    Cause.THROTTLED: _("the provider asks to send more slowly"),
    Cause.ERRORS: _("half of the calls fail"),
}
# Throttling passes by itself, so it notifies nobody.
NOTIFIED_CAUSES = {Cause.REFUSED, Cause.ERRORS}

# Calls under way when it opened also fail and must change nothing: only a probe reopens it.
TRIP = """
INSERT INTO channels_provideraccount AS a (name, position, opened_at, open_until, trips, reason)
VALUES (%(name)s, %(position)s, now(), now() + make_interval(secs => %(pause)s), 1, %(reason)s)
ON CONFLICT (name) DO UPDATE SET
  opened_at = COALESCE(a.opened_at, now()), open_until = excluded.open_until, probed_at = NULL,
  trips = a.trips + 1, reason = excluded.reason
WHERE a.open_until IS NULL OR %(is_probe)s
RETURNING trips
"""

CLOSE = """
UPDATE channels_provideraccount
SET opened_at = NULL, open_until = NULL, probed_at = NULL, trips = 0, reason = ''
WHERE name = %s AND open_until IS NOT NULL
"""

RELEASE = "UPDATE channels_provideraccount SET probed_at = NULL WHERE name = %s"


def write(change: Change) -> None:
    match change:
        case Trip():
            _trip(change)
        case Close(call):
            close(call.provider)
        case Release(call):
            with connection.cursor() as cursor:
                cursor.execute(RELEASE, [call.provider])


def close(provider: str) -> bool:
    """Returns False if it was already closed."""
    with connection.cursor() as cursor:
        cursor.execute(CLOSE, [provider])
        closed = bool(cursor.rowcount)
    if closed:
        log.info("breaker_closed", provider=provider)
    return closed


def _trip(change: Trip) -> None:
    name, cause = change.call.provider, change.cause
    with transaction.atomic(), connection.cursor() as cursor:
        params: dict[str, str | int | float] = {
            "name": name,
            "position": registry.position(name),
            "pause": change.pause,
            "reason": change.reason,
            "is_probe": change.call.is_probe,
        }
        cursor.execute(TRIP, params)
        opened = cursor.fetchone()
        if opened and cause in NOTIFIED_CAUSES:
            _notify_operators(change)
    if opened:
        metrics.count_trip(name, cause.value)
        log.warning(
            "breaker_opened",
            provider=name,
            cause=cause.value,
            reason=change.reason,
            seconds=round(change.pause, 1),
            trips=opened[0],
        )


def _notify_operators(change: Trip) -> None:
    """At most once an hour per account."""
    name = change.call.provider
    substitutes = find_substitutes(name)
    context = {
        "title": error_texts.provider_title(name),
        "cause": CAUSES[change.cause],
        "reason": change.reason,
        "whole": ", ".join(substitutes.full),
        "part": ", ".join(substitutes.partial),
        "path": reverse("admin:providers"),
    }
    about = f"{name}:{timezone.now():%Y%m%d%H}"
    operator_mail.notify_operators(template="breaker_opened", context=context, about=about)


@dataclass(frozen=True, slots=True)
class Substitutes:
    full: list[str]  # titles of accounts that carry everything it carries
    partial: list[str]  # of those that carry some of it, or serve only some phones or people


def find_substitutes(name: str) -> Substitutes:
    """For the operators' mail: among accounts that are enabled and whose breaker is closed."""
    live = registry.live_providers()
    own, rows = live[name], {row.name: row for row in ProviderAccount.objects.all()}
    substitutes = Substitutes([], [])
    for other, provider in live.items():
        row = rows.get(other)
        is_available = row is None or (row.is_enabled and row.open_until is None)
        shared = own.capabilities.contents & provider.capabilities.contents
        if other == name or provider.channel != own.channel or not (is_available and shared):
            continue
        is_full = shared == own.capabilities.contents and not (
            provider.capabilities.needs_contact or (row is not None and row.prefixes)
        )
        titles = substitutes.full if is_full else substitutes.partial
        titles.append(str(error_texts.provider_title(other)))
    return substitutes
