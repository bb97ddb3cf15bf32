"""Deletes or anonymises expired data, in small batches."""

from collections.abc import Sequence
from functools import partial
from uuid import UUID

import structlog
from django.conf import settings
from django.db import DatabaseError, connection

from accounts import jobs
from accounts.jobs import PURGES, delete_rows
from accounts.outbox import retention as account_retention
from api import request_log
from api.models import IdempotentRequest
from channels import extensions
from channels.extensions import Purger
from channels.history import export
from storage.months import partitions
from storage.store_errors import is_refusal, savepoint
from webhooks import retention as webhook_retention

log = structlog.get_logger(__name__)

BATCH = 1000

DELETE_RECEIPTS = """
DELETE FROM channels_receipt WHERE id IN (
  SELECT id FROM channels_receipt WHERE received_at < now() - make_interval(days => %s) LIMIT %s)
"""

DELETE_ALERTS = """
DELETE FROM channels_provideralert WHERE id IN (
  SELECT id FROM channels_provideralert WHERE at < now() - make_interval(days => %s) LIMIT %s)
"""

DELETE_KNOWN_RECIPIENTS = """
DELETE FROM channels_knownrecipient WHERE id IN (
  SELECT id FROM channels_knownrecipient WHERE seen_at < now() - make_interval(days => %s) LIMIT %s)
"""

DELETE_PARTS = """
DELETE FROM channels_part WHERE id IN (
  SELECT p.id FROM channels_part p JOIN channels_attempt a ON a.id = p.attempt_id
  WHERE a.started_at < now() - make_interval(days => %s) LIMIT %s)
"""

_DUE_PHONES = f"""
SELECT id FROM channels_message WHERE created_at < now() - make_interval(days => %s)
  AND phone NOT LIKE '%%*' AND state NOT IN ('queued', 'sent')
  AND {jobs.not_waiting_sql("purges", "channels_message.id::text")}
ORDER BY created_at LIMIT %s"""  # noqa: S608 - constants
# Keeps the prefix for statistics; it identifies nobody. `sender` has hashes of address and device.
_ANONYMISE = """
UPDATE channels_message SET phone = left(phone, 5) || '*', params = params - 'sender' WHERE id"""
ANONYMISE_PHONES = f"{_ANONYMISE} IN ({_DUE_PHONES})"


def purge() -> int:
    """Runs each step to its end, even after a failed one; returns the number of changed rows."""
    steps: list[Purger] = [
        _create_months,
        lambda limit: delete_rows(
            IdempotentRequest.objects.expired().order_by("created_at"), limit
        ),
        partial(_execute, DELETE_RECEIPTS, settings.RAW_RETENTION),
        partial(_execute, DELETE_ALERTS, settings.RAW_RETENTION),
        partial(_execute, DELETE_PARTS, settings.RAW_RETENTION),
        partial(_execute, DELETE_KNOWN_RECIPIENTS, settings.PHONE_RETENTION),
        _anonymise_phones,
        request_log.purge,
        export.purge,
        jobs.purge,
        *account_retention.PURGERS,
        *webhook_retention.PURGERS,
        *extensions.purgers,
    ]
    return sum(_in_batches(step) for step in steps)


def _create_months(_limit: int) -> int:
    return partitions.create_upcoming()


def _in_batches(step: Purger) -> int:
    total, count = 0, BATCH
    while count >= BATCH:  # a step may count rows of several tables
        try:
            count = step(BATCH)
        except Exception:
            # The next hourly run retries what this step left; the log entry raises the alarm.
            log.exception("purge_failed")
            connection.close_if_unusable_or_obsolete()
            return total
        total += count
    return total


def _anonymise_phones(limit: int) -> int:
    """By message, where one cannot be changed."""
    if not PURGES.is_failing():
        try:
            with savepoint():
                return _execute(ANONYMISE_PHONES, settings.PHONE_RETENTION, limit)
        except DatabaseError as error:
            if not is_refusal(error):
                raise
    changed = 0

    def anonymise(ids: Sequence[UUID]) -> None:
        nonlocal changed
        with connection.cursor() as cursor:
            cursor.execute(f"{_ANONYMISE} = ANY(%s)", [list(ids)])
            changed += int(cursor.rowcount)

    with connection.cursor() as cursor:
        cursor.execute(_DUE_PHONES, [settings.PHONE_RETENTION, limit])
        due = [message_id for (message_id,) in cursor.fetchall()]
    PURGES.together(due, anonymise)
    return changed


def _execute(statement: str, days: int, limit: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, [days, limit])
        return int(cursor.rowcount)
