"""The web process evaluates alerts while no worker does: a dead worker cannot report itself.

Without PostgreSQL it has no outbox, so it sends directly to OPERATOR_EMAILS and Telegram; Redis
keeps several processes from sending the same notice.
"""

import time
from datetime import timedelta

import structlog
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from psycopg_pool import PoolTimeout
from redis import RedisError

from accounts.outbox import mail
from operator_admin.alerts import evaluation, notifications
from operator_admin.alerts.rules import Group
from operator_admin.models import AlertRun
from processes.background import PeriodicThread
from storage.redis_client import redis_client

log = structlog.get_logger(__name__)

INTERVAL = 60.0  # seconds
TIMEOUT = timedelta(minutes=3)  # without a scheduled run
MAX_BATCHES = 10  # of e-mails in one check: those about alerts wait behind others
MAX_FAILED_CHECKS = 2  # in a row, until the database counts as down
REPEATED_AFTER = [3600, 4 * 3600, 12 * 3600, 24 * 3600]  # seconds; the last one repeats
_KEY = "operator_alerts:database_down"


class Watchdog:
    """The watchdog of a web process."""

    def __init__(self) -> None:
        self._failures = 0
        self._sent = 0  # notices of this outage
        self._due_at = 0.0  # of the next notice, while Redis is down

    def check(self) -> None:
        try:
            is_alone = _is_alone()
        except (OperationalError, InterfaceError, PoolTimeout):
            connection.close()
            self._failures += 1
            if self._failures >= MAX_FAILED_CHECKS:
                self._report_outage()
            return
        self._report_recovery()
        self._failures = 0
        if is_alone and evaluation.run(Group.MINUTE):
            log.warning("alerts_evaluated_by_web")
            notifications.deliver_telegram()
            _deliver_mail()

    def _report_outage(self) -> None:
        pause = REPEATED_AFTER[min(self._sent, len(REPEATED_AFTER) - 1)]
        if self._is_due(pause):
            self._sent += 1
            with translation.override(settings.OPERATOR_LANGUAGE):
                _write(_("PostgreSQL does not answer"), _outage_text())

    def _is_due(self, pause: int) -> bool:
        """Whether this process may write now: of several processes, one writes in each pause."""
        try:
            return bool(redis_client().set(_KEY, "1", nx=True, ex=pause))
        except (RedisError, OSError):
            is_due = time.monotonic() >= self._due_at
            self._due_at = time.monotonic() + pause if is_due else self._due_at
            return is_due

    def _report_recovery(self) -> None:
        try:
            was_reported = bool(redis_client().getdel(_KEY))
        except (RedisError, OSError):
            was_reported = self._sent > 0
        self._sent = 0
        self._due_at = 0.0
        if was_reported:
            with translation.override(settings.OPERATOR_LANGUAGE):
                _write(_("PostgreSQL answers again"), _("Accepted messages are sent now."))


def _outage_text() -> str:
    return _(
        "The API answers 503. Accepted messages are safe and are sent once it is back. Start "
        "PostgreSQL, or correct DATABASE_URL: docs/operations/alerts.md."
    )


def _is_alone() -> bool:
    """Whether the schedule's runs have stopped."""
    since = timezone.now() - TIMEOUT
    return not AlertRun.objects.filter(group=Group.MINUTE, at__gte=since).exists()


def _deliver_mail() -> None:
    """Delivers e-mails in place of a worker; several processes may do so at once."""
    for _batch in range(MAX_BATCHES):
        if not mail.deliver():
            return


def _write(title: str, text: str) -> None:
    log.warning("alert", rule="database-down", title=title)
    subject = f"Kvitok: {title}"
    to = settings.OPERATOR_EMAILS
    if to and (error := notifications.send_mail(subject, text, *to)):
        log.warning("alert_not_mailed", error=error)
    if error := notifications.send_telegram(f"{subject}\n{text}"):
        log.warning("operator_telegram_failed", error=error)


def start() -> None:
    """Starts a thread that runs for the life of the process."""
    PeriodicThread("alerts-watchdog", Watchdog().check, INTERVAL).start()
