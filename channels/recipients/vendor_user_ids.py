"""Vendors' user ids, which a vendor may report instead of the phone.

They are stored from receipts of our messages, so that STOP works for a person who hides the phone,
and from responses of a vendor that contain another number than the one we sent to.
"""

from collections.abc import Iterable, Sequence
from queue import SimpleQueue
from typing import Any

import structlog
from django.conf import settings

from catalogue.ids import uuid_or_none
from channels.phone_numbers import e164_or_none
from channels.providers.inbound import Recipient
from channels.providers.vendors import vendor_of
from parsing.characters import stored_text
from processes.outbox_loop import write_in_batches
from storage.months.recent_ids import limit_to_months, months_of_last
from storage.statements import sql_files
from storage.statements.json_rows import dump_rows, json_rows
from storage.statements.queries import execute, fetch_value
from storage.store_errors import write_together

log = structlog.get_logger(__name__)

REMEMBER = sql_files.fill(
    sql_files.read("channels/recipients/remember.sql"),
    recipients=json_rows("recipients", "vendor text, user_id text, attempt_id uuid"),
)
_PHONE = """
SELECT message.phone FROM channels_knownrecipient JOIN channels_attempt attempt
  ON attempt.id = attempt_id JOIN channels_message message ON message.id = attempt.message_id
WHERE vendor = %s AND user_id = %s
"""


def rows_to_remember(provider: str, recipients: Sequence[Recipient]) -> list[dict[str, Any]]:
    """The rows for `REMEMBER`: recipients of our own messages."""
    vendor = vendor_of(provider)
    return [
        {"vendor": vendor, "user_id": stored_text(recipient.user_id, 150), "attempt_id": attempt_id}
        for recipient in recipients
        if (attempt_id := uuid_or_none(recipient.ref))
    ]


def without_repeats(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows without duplicates, since a statement can write each person only once.

    They are sorted, so that parallel statements cannot deadlock.
    """
    by_person = {(row["vendor"], row["user_id"]): row for row in rows}
    return [by_person[person] for person in sorted(by_person)]


_queue: SimpleQueue[tuple[str, Recipient]] = SimpleQueue()
_unwritten: list[dict[str, Any]] = []


def enqueue(provider: str, phone: str, user_id: str, ref: str) -> None:
    """Queues an id on a provider's thread, which has no database: the dispatcher records it soon.

    Most ids are the phone itself, in some spelling, and need no row.
    """
    if user_id and user_id != phone[1:] and e164_or_none(f"+{user_id}", "") != phone:
        _queue.put((provider, Recipient(user_id, ref)))


def record_queued() -> None:
    """Records queued ids.

    A row leaves the queue only once it is written: after a failure a later call writes the rest.
    """
    while not _queue.empty():  # only the dispatcher removes entries
        provider, recipient = _queue.get()
        _unwritten.extend(rows_to_remember(provider, [recipient]))
    write_in_batches(_unwritten, lambda batch: write_together(batch, _write, _refuse))


def _write(batch: Sequence[dict[str, Any]]) -> None:
    statement = limit_to_months(REMEMBER, months_of_last(settings.PHONE_RETENTION))
    execute(statement, {"recipients": dump_rows(without_repeats(batch))})


def _refuse(row: dict[str, Any], error: Exception) -> None:
    log.error("vendor_user_id_not_saved", vendor=row["vendor"], exc_info=error)


def phone_of(provider: str, user_id: str) -> str:
    """The phone of this person; empty if they got no message, or the phone is anonymised by now."""
    phone: str = fetch_value(_PHONE, [vendor_of(provider), user_id]) or ""
    return "" if phone.endswith("*") else phone
