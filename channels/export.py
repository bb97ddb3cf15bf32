"""The history as CSV that a spreadsheet opens as it is, and in which nothing is a formula."""

import csv
from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from django.db import connection
from django.db.models import QuerySet
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from accounts import paging
from channels import wording
from channels.models import Message

BOM = "\ufeff"  # by which a spreadsheet knows UTF-8
SEPARATORS = {"ru": ";"}  # what spreadsheets expect where the comma parts decimals
BATCH = 1000
ROWS = 1_000_000  # and a heading: the most a sheet holds
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


class _Echo:
    """What `csv` writes to, and hands back."""

    def write(self, line: str) -> str:
        return line


def lines(rows: QuerySet[Message], language: str) -> Iterator[str]:
    """Batch after batch, while the reader takes them; no connection is held in between."""
    writer = csv.writer(_Echo(), delimiter=SEPARATORS.get(language, ","))
    yield BOM
    with translation.override(language):
        headings = _headings()
    yield writer.writerow(headings)
    for message in islice(_all(rows), ROWS):
        with translation.override(language):
            cells = [safe(cell) for cell in _cells(message)]
        yield writer.writerow(cells)


def safe(cell: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def _all(rows: QuerySet[Message]) -> Iterator[Message]:
    for batch in paging.batches(rows.select_related("api_key"), BATCH):
        if not connection.in_atomic_block:
            connection.close()
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


def _cells(message: Message) -> list[str]:
    return [
        _moment(message.created_at),
        message.public_id,
        str(message.get_mode_display()),
        str(message.get_kind_display()),
        str(message.get_channel_display()),
        message.phone.removeprefix("+"),  # with its plus it would be a sum
        str(message.get_state_display()),
        wording.our_error(message.error),
        _moment(message.delivered_at),
        str(getattr(message, "charged", None) or 0),
        f"{message.api_key.name} ({message.api_key})" if message.api_key else "",
        message.request_id,
    ]


def _moment(at: datetime | None) -> str:
    return timezone.localtime(at).strftime("%Y-%m-%d %H:%M:%S") if at else ""
