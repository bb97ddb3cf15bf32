"""Exports a company's messages as spreadsheet rows, which never contain the code."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.api import pagination
from accounts.models import Member
from accounts.people.phone_masking import phone_for
from channels.models import Message
from channels.vendor_accounts import error_texts

BATCH_SIZE = 1000
MAX_ROWS = 1_000_000  # plus a heading: the limit of a spreadsheet


def rows_of(
    messages: QuerySet[Message], history: QuerySet[Message] | None, member: Member
) -> Iterator[list[str]]:
    """Streams batches; the database connection is closed between them."""
    yield _headings()
    yield from (_cells(message, member) for message in islice(_all(messages, history), MAX_ROWS))


def cells_of(
    messages: Iterable[Message], member: Member, *, with_headings: bool
) -> Iterator[list[str]]:
    """Of a part of a file."""
    if with_headings:
        yield _headings()
    yield from (_cells(message, member) for message in messages)


def _all(rows: QuerySet[Message], history: QuerySet[Message] | None) -> Iterator[Message]:
    keyed = rows.select_related("api_key")
    for batch in pagination.batches(keyed, BATCH_SIZE, history=history):
        yield from batch


def _headings() -> list[str]:
    return [
        _("Time"),
        _("Message id"),
        _("Mode"),
        _("Kind"),
        _("Channel"),
        _("Phone"),
        _("Status"),
        _("Why"),
        _("Delivered at"),
        _("Tokens charged"),
        _("Key"),
        _("Request id"),
    ]


def _cells(message: Message, member: Member) -> list[str]:
    return [
        _local_time(message.created_at),
        message.public_id,
        str(message.get_mode_display()),
        str(message.get_kind_display()),
        str(message.get_channel_display()),
        phone_for(message.phone, member),
        str(message.get_state_display()),
        error_texts.api_error_text(message.error),
        _local_time(message.delivered_at),
        str(getattr(message, "charged", None) or 0),
        f"{message.api_key.name} ({message.api_key})" if message.api_key else "",
        message.request_id,
    ]


def _local_time(at: datetime | None) -> str:
    return timezone.localtime(at).strftime("%Y-%m-%d %H:%M:%S") if at else ""
