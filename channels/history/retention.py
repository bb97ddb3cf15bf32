"""The purges of messages: old phones are anonymised, receipts and other raw data deleted."""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Model
from django.utils import timezone

from accounts import jobs
from accounts.purges import PURGES, Purger, delete_rows, purge_exports
from channels.models import KnownRecipient, MessageExport, Part, ProviderAlert, Receipt
from channels.recipients import contacts
from storage.store_errors import is_refusal, savepoint

_DUE_PHONES = f"""
SELECT id FROM channels_message WHERE created_at < now() - make_interval(days => %s)
  AND phone NOT LIKE '%%*' AND state NOT IN ('queued', 'sent')
  AND {jobs.not_waiting_sql("purges", "channels_message.id::text")}
ORDER BY created_at LIMIT %s"""  # noqa: S608 - constants
# Keeps the prefix for statistics, which identifies nobody. `sender` has hashes of address and
# device, `callback` a URL that may identify the person. WhatsApp's message ids contain the phone.
_ANONYMISE = """
WITH changed AS (
  UPDATE channels_message SET phone = left(phone, 5) || '*',
    params = params - '{{sender,callback}}'::text[]
  WHERE id IN ({due}) RETURNING id),
attempts AS (
  UPDATE channels_attempt SET provider_id = NULL, error_detail = ''
  WHERE message_id IN (SELECT id FROM changed) AND (provider_id <> '' OR error_detail <> ''))
SELECT FROM changed"""
ANONYMISE_PHONES = _ANONYMISE.format(due=_DUE_PHONES)


def _delete_older(model: type[Model], column: str, setting: str, limit: int) -> int:
    days = getattr(settings, setting)
    expired = {f"{column}__lt": timezone.now() - timedelta(days=days)}
    return delete_rows(model._default_manager.filter(**expired).order_by(column), limit)  # noqa: SLF001 - public in Django


def _anonymise_phones(limit: int) -> int:
    """Anonymises phones in batches, or message by message if one cannot be changed."""
    if not PURGES.is_failing():
        try:
            with savepoint(), connection.cursor() as cursor:
                cursor.execute(ANONYMISE_PHONES, [settings.PHONE_RETENTION, limit])
                return int(cursor.rowcount)
        except DatabaseError as error:
            if not is_refusal(error):
                raise
    changed = 0

    def anonymise(ids: Sequence[UUID]) -> None:
        nonlocal changed
        with connection.cursor() as cursor:
            cursor.execute(_ANONYMISE.format(due="SELECT unnest(%s::uuid[])"), [list(ids)])
            changed += int(cursor.rowcount)

    with connection.cursor() as cursor:
        cursor.execute(_DUE_PHONES, [settings.PHONE_RETENTION, limit])
        due = [message_id for (message_id,) in cursor.fetchall()]
    PURGES.write_batch(due, anonymise)
    return changed


PURGERS: list[Purger] = [
    partial(_delete_older, Receipt, "received_at", "RAW_RETENTION"),
    partial(_delete_older, ProviderAlert, "at", "RAW_RETENTION"),
    partial(_delete_older, Part, "attempt__started_at", "RAW_RETENTION"),
    partial(_delete_older, KnownRecipient, "seen_at", "PHONE_RETENTION"),
    contacts.delete_unconfirmed,
    _anonymise_phones,
    partial(purge_exports, MessageExport),
]
