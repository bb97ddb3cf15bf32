"""Lists as CSV files: a short one is answered at once, a long one is made in the background.

Each part and its end position are one commit under a lock on the export's row, so each row is
written once even if workers die.
"""

import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Any, ClassVar, NamedTuple

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import QueryDict
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.audit import record
from accounts.jobs import Job, delete_all_but_newest
from accounts.models import Company, CsvExport, CsvExportPart, Member, Mode
from api.pagination import NEWEST_FIRST, Position, batch_after
from cabinet.forms import FilterForm
from cabinet.spreadsheets import Row, csv_lines
from catalogue.texts import StrOrPromise
from storage.sessions import read_with_retries

JOB = Job("csv_exports", gettext_lazy("list exports"))
SHORT = 3000  # rows; a longer file is made in the background
PART_SIZE = 2000  # rows read at once, and per commit
State = CsvExport.State


class Selection(NamedTuple):
    """The rows that a filter selects."""

    rows: QuerySet[Any]
    history: QuerySet[Any] | None  # where a filter without an index searches


class Download(NamedTuple):
    """A member's request for a list."""

    member: Member
    filters: Mapping[str, Any]
    asked_at: datetime


class CsvKind(ABC):
    """A list that can be downloaded; `declared` of its package registers it."""

    name: ClassVar[str]  # in addresses and names of files
    title: ClassVar[StrOrPromise]
    page: ClassVar[str]  # the route of the list
    action: ClassVar[str]  # in the audit log
    model: ClassVar[type[Model]]
    max_rows: ClassVar[int | None] = 1_000_000  # plus a heading line; the limit of spreadsheets
    is_oldest_first: ClassVar = False

    def allows(self, member: Member) -> bool:
        return True

    @abstractmethod
    def form(self, query: QueryDict, member: Member) -> FilterForm: ...

    @abstractmethod
    def select(self, download: Download) -> Selection: ...

    @abstractmethod
    def headings(self) -> Row: ...

    @abstractmethod
    def cells(self, row: Any, member: Member) -> Row: ...

    def part(self, download: Download, start: Position | None) -> tuple[list[Row], Position | None]:
        """The rows after `start`, and the start of the next part; None at the end."""
        rows, history = self.select(download)
        batch, end = batch_after(rows, start, PART_SIZE, history=history)
        return [self.cells(row, download.member) for row in batch], end

    def mode_of(self, filters: Mapping[str, Any]) -> str:
        """The mode whose rows are listed; empty for a list that has none."""
        return filters.get("mode", Mode.LIVE) if hasattr(self.model, "mode") else ""

    def subject(self, filters: Mapping[str, Any]) -> str:
        """The filters in the audit log: only their names, since a value may be a phone."""
        return ", ".join(sorted(filters))


KINDS: dict[str, CsvKind] = {}


def register(kind: CsvKind) -> None:
    KINDS[kind.name] = kind


def is_long(kind: CsvKind, download: Download) -> bool:
    """Whether there are more rows than a request should read; answered from an index."""
    rows, history = kind.select(download)
    ordered = (rows if history is None else history).order_by(*NEWEST_FIRST).values("pk")
    return bool(ordered[SHORT : SHORT + 1])


def rows_of(kind: CsvKind, download: Download) -> Iterator[Row]:
    """Streams the rows; the database connection is given back between parts."""
    yield kind.headings()
    rows, end = read_with_retries(partial(kind.part, download, None))
    yield from rows
    while end is not None:
        rows, end = read_with_retries(partial(kind.part, download, end))
        yield from rows


def start(*, kind: CsvKind, member: Member, query: str, language: str, ip: str | None) -> CsvExport:
    """Starts a file; raises ValidationError for an invalid filter, and while too many of the
    company's files are in progress.
    """
    form = kind.form(QueryDict(query), member)
    if not form.is_valid():
        raise ValidationError(_("The filter is not valid. Go back to the list and correct it."))
    asked_at = timezone.now()
    company = member.company
    with transaction.atomic():
        Company.objects.select_for_update(no_key=True).get(pk=company.pk)
        unfinished = CsvExport.objects.unfinished().filter(company=company)
        if unfinished.count() >= CsvExport.MAX_UNFINISHED:
            raise ValidationError(_("Three files are already being made: wait for one of them."))
        earlier = CsvExport.objects.finished().filter(company=company, user=member.user)
        delete_all_but_newest(earlier, CsvExport.MAX_FINISHED)
        subject = kind.subject(form.filters())
        record(kind.action, subject, company=company, user=member.user, ip=ip)
        return CsvExport.objects.create(
            company=company,
            user=member.user,
            kind=kind.name,
            query=form.query,
            role=member.role,
            language=language,
            created_at=asked_at,
        )


def make_next() -> bool:
    """Makes the next part of the file that has waited longest; False if there is none."""
    return JOB.do_next(
        CsvExport.objects.unfinished(), _make_next_part, lambda row: row.finish(State.FAILED)
    )


def _make_next_part(row: CsvExport) -> None:
    kind = KINDS[row.kind]
    members = Member.objects.select_related("company")
    member = members.filter(user=row.user_id, company=row.company_id, role=row.role).first()
    if member is None:  # who left, or whose role changed, gets no file by the old rights
        row.finish(State.STOPPED)
        return
    with translation.override(row.language):
        form = kind.form(QueryDict(row.query), member)
        if form.is_valid():
            _make_part(row, kind, Download(member, form.filters(), row.created_at))
        else:  # without the field that became invalid the file would have other rows
            row.finish(State.STOPPED)


def _make_part(row: CsvExport, kind: CsvKind, download: Download) -> None:
    reached = None
    if row.reached_at is not None:
        row_id = kind.model._meta.pk.to_python(row.reached_id)  # noqa: SLF001 - public in Django
        reached = Position(row.reached_at, row_id)
    rows, end = kind.part(download, reached)
    _store(row, kind, rows)
    row.rows += len(rows)
    if end is None or (kind.max_rows and row.rows >= kind.max_rows):
        row.finish(State.READY)
        return
    row.percent = _percent(kind, download, end.created_at)
    row.reached_at, row.reached_id = end.created_at, str(end.id)
    row.save(update_fields=["rows", "percent", "reached_at", "reached_id"])


def _store(row: CsvExport, kind: CsvKind, rows: list[Row]) -> None:
    number = row.parts.count()
    if not rows and number:
        return
    lines = rows if number else [kind.headings(), *rows]
    text = "".join(csv_lines(lines, row.language, is_continued=number > 0))
    CsvExportPart.objects.create(export=row, number=number, body=zlib.compress(text.encode()))


def _percent(kind: CsvKind, download: Download, reached_at: datetime) -> int:
    """The progress in per cent by time: the rows ahead are not counted."""
    rows = kind.model._default_manager.filter(company=download.member.company_id)  # noqa: SLF001 - public in Django
    if mode := kind.mode_of(download.filters):
        rows = rows.filter(mode=mode)  # like the index
    oldest = rows.order_by("created_at", "pk").values_list("created_at", flat=True).first()
    duration = (download.asked_at - (oldest or reached_at)).total_seconds()
    ahead = (download.asked_at - reached_at).total_seconds()
    elapsed = duration - ahead if kind.is_oldest_first else ahead
    return max(0, min(99, round(100 * elapsed / duration))) if duration > 0 else 0


def content(row: CsvExport) -> Iterator[bytes]:
    """Yields the file, one part at a time."""
    for number in range(row.parts.count()):
        part = row.parts.filter(number=number).values_list("body", flat=True).first()
        if part is None:  # the file was deleted during the download
            return
        yield zlib.decompress(part)
