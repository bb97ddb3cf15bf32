"""The purges of messages: old phones are anonymised, receipts and other raw data deleted."""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError
from django.db.models import Model
from django.utils import timezone

from accounts import jobs
from accounts.purges import PURGES, Purger, delete_rows
from channels.models import (
    KnownRecipient,
    Part,
    ProviderAlert,
    Receipt,
    stored_fields,
)
from channels.recipients import contacts
from storage.statements import sql_files
from storage.statements.queries import execute, fetch_column
from storage.store_errors import is_refusal, savepoint

_NOT_WAITING = jobs.not_waiting_sql("purges", "channels_message.id::text")
_DUE_PHONES = f"""
SELECT id FROM channels_message WHERE created_at < now() - make_interval(days => %s)
  AND phone NOT LIKE '%%*' AND state NOT IN ('queued', 'sent') AND {_NOT_WAITING}
ORDER BY created_at LIMIT %s"""  # noqa: S608 - constants


def _anonymise(due: str) -> str:
    statement = sql_files.read("channels/history/anonymise.sql")
    return sql_files.fill(statement, due=due, emptied=stored_fields.EMPTIED)


_ANONYMISE_IDS = _anonymise("SELECT unnest(%s::uuid[])")
ANONYMISE_PHONES = _anonymise(_DUE_PHONES)


def _delete_older(model: type[Model], column: str, setting: str, limit: int) -> int:
    days = getattr(settings, setting)
    expired = {f"{column}__lt": timezone.now() - timedelta(days=days)}
    return delete_rows(model._default_manager.filter(**expired).order_by(column), limit)  # noqa: SLF001 - public in Django


def _anonymise_phones(limit: int) -> int:
    """Anonymises phones in batches, or message by message if one cannot be changed."""
    if not PURGES.is_failing():
        try:
            with savepoint():
                return execute(ANONYMISE_PHONES, [settings.PHONE_RETENTION, limit])
        except DatabaseError as error:
            if not is_refusal(error):
                raise
    changed = 0

    def anonymise(ids: Sequence[UUID]) -> None:
        nonlocal changed
        changed += execute(_ANONYMISE_IDS, [list(ids)])

    due = fetch_column(_DUE_PHONES, [settings.PHONE_RETENTION, limit])
    PURGES.write_batch(due, anonymise)
    return changed


PURGERS: list[Purger] = [
    partial(_delete_older, Receipt, "received_at", "RAW_RETENTION"),
    partial(_delete_older, ProviderAlert, "at", "RAW_RETENTION"),
    partial(_delete_older, Part, "attempt__started_at", "RAW_RETENTION"),
    partial(_delete_older, KnownRecipient, "seen_at", "PHONE_RETENTION"),
    contacts.delete_unconfirmed,
    _anonymise_phones,
]
