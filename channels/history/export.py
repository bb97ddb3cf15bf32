"""Exports a company's messages as spreadsheet rows, which never contain the code.

A long file is made in the background. Each part and its end position are one commit under a lock on
the export's row, so each row is written once even if workers die.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.audit import record
from accounts.jobs import Job, delete_all_but_newest
from accounts.models import Company, Member
from accounts.people.phone_visibility import phone_for, text_for
from api import pagination
from api.body_admission import source_apis
from api.pagination import Position, batch_after
from cabinet.spreadsheets import csv_lines
from channels.history import messages
from channels.models import Message, MessageExport, MessageExportPart, stored_fields
from channels.vendor_accounts import error_texts
from parsing.days import local_time

BATCH_SIZE = 1000
MAX_ROWS = 1_000_000  # plus a heading line; the limit of spreadsheets


def rows_of(
    messages: QuerySet[Message], history: QuerySet[Message] | None, member: Member
) -> Iterator[list[str]]:
    """Streams batches of rows; the database connection is closed between batches."""
    keyed = messages.select_related("api_key")
    batches = pagination.batches(keyed, BATCH_SIZE, history=history)
    return _csv_rows(islice(chain.from_iterable(batches), MAX_ROWS), member, with_headings=True)


def _csv_rows(
    messages: Iterable[Message], member: Member, *, with_headings: bool
) -> Iterator[list[str]]:
    if with_headings:
        yield [
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
            *(str(field.title) for field in stored_fields.FIELDS),
            _("Source"),
            _("Language"),
        ]
    yield from (_cells(message, member) for message in messages)


def _cells(message: Message, member: Member) -> list[str]:
    return [
        local_time(message.created_at),
        message.public_id,
        str(message.get_mode_display()),
        str(message.get_kind_display()),
        str(message.get_channel_display()),
        phone_for(message.phone, member),
        str(message.get_state_display()),
        error_texts.api_error_text(message.error),
        local_time(message.delivered_at),
        str(getattr(message, "charged", None) or 0),
        f"{message.api_key.name} ({message.api_key})" if message.api_key else "",
        message.request_id,
        *(text_for(getattr(message, name), member) for name in stored_fields.NAMES),
        str(source_apis.get(message.source_api, message.source_api)),
        message.locale,
    ]


JOB = Job("message_files", gettext_lazy("message exports"))
SHORT = 3000  # rows; a longer file is made in the background
PART_SIZE = 2000  # rows per commit
State = MessageExport.State


def is_long(company: Company, filters: Mapping[str, Any]) -> bool:
    """Whether there are more rows than a request should read; answered from an index."""
    history = messages.searched_messages(company, filters)
    rows = messages.matching(company, filters) if history is None else history
    ordered = rows.order_by("-created_at", "-id").values("pk")
    return bool(ordered[SHORT : SHORT + 1])


@transaction.atomic
def start(*, member: Member, mode: str, query: str, language: str, ip: str | None) -> MessageExport:
    """Starts a file; raises ValidationError while too many of the company's files are in
    progress.
    """
    company = member.company
    Company.objects.select_for_update(no_key=True).get(pk=company.pk)
    unfinished = MessageExport.objects.unfinished().filter(company=company)
    if unfinished.count() >= MessageExport.MAX_UNFINISHED:
        raise ValidationError(_("Three files are already being made: wait for one of them."))
    earlier = MessageExport.objects.finished().filter(company=company, user=member.user)
    delete_all_but_newest(earlier, MessageExport.MAX_FINISHED)
    rows = Message.objects.for_company(company).filter(mode=mode).order_by("created_at", "id")
    oldest = rows.values_list("created_at", flat=True).first()
    record("history.exported", "background", company=company, user=member.user, ip=ip)
    return MessageExport.objects.create(
        company=company,
        user=member.user,
        query=query,
        language=language,
        masks_phones=not member.can_see_phones,
        oldest_at=oldest,
    )


FilterOf = Callable[[str, Member], Mapping[str, Any]]  # reads a query string


def make_next(filter_of: FilterOf) -> bool:
    """Makes the next part of the file that has waited longest; False if there is none."""
    return JOB.do_next(
        MessageExport.objects.unfinished(),
        lambda row: _make_next_part(row, filter_of),
        lambda row: row.finish(State.FAILED),
    )


def _make_next_part(row: MessageExport, filter_of: FilterOf) -> None:
    member = Member.objects.filter(user=row.user, company=row.company).first()
    if member is None or row.masks_phones is member.can_see_phones:
        # A member who left, or whose rights changed, gets no file by their old rights.
        row.finish(State.STOPPED)
        return
    with translation.override(row.language):
        _make_part(row, member, filter_of(row.query, member))


def _make_part(row: MessageExport, member: Member, filters: Mapping[str, Any]) -> None:
    rows, end = batch_after(
        messages.matching(row.company, filters).select_related("api_key"),
        Position(row.reached_at, row.reached_id) if row.reached_at else None,
        PART_SIZE,
        history=messages.searched_messages(row.company, filters),
    )
    _store(row, rows, member)
    row.rows += len(rows)
    if end is None or row.rows >= MAX_ROWS:
        row.finish(State.READY)
        return
    row.reached_at, row.reached_id = end
    row.save(update_fields=["rows", "reached_at", "reached_id"])


def _store(row: MessageExport, rows: list[Message], member: Member) -> None:
    number = row.parts.count()
    if not rows and number:
        return
    cells = _csv_rows(rows, member, with_headings=not number)
    text = "".join(csv_lines(cells, row.language, is_continued=number > 0))
    MessageExportPart.objects.create(export=row, number=number, body=zlib.compress(text.encode()))


def content(row: MessageExport) -> Iterator[bytes]:
    """Yields the file, one part at a time."""
    for number in range(row.parts.count()):
        part = row.parts.filter(number=number).values_list("body", flat=True).first()
        if part is None:  # the file was deleted during the download
            return
        yield zlib.decompress(part)
