"""Makes the links of a file, each row once even if workers die.

Links, their rows' results and the progress are committed together, under a lock on the import's
row. All links form one batch, whose id is the import's. Files may come from spreadsheets,
other shorteners or this service.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from io import StringIO
from itertools import chain
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone, translation
from django.utils.translation import gettext_lazy as _

from accounts.audit import record
from accounts.jobs import Job, delete_all_but_newest, delete_with_parts
from accounts.keys import api_keys
from accounts.keys.principal import Principal
from accounts.masked_phones import mask_phones_in
from accounts.models import Company, User
from accounts.purges import delete_rows
from api.authentication import check_status
from api.request_fields import RequestFields
from catalogue.errors import DomainError
from catalogue.texts import StrOrPromise
from links.api import parsing
from links.make.bulk import shorten_many
from links.make.new_link import NewLink
from links.models import Link, LinkImport, LinkImportRow
from parsing.integers import parse_integer
from storage.heavy_work import HeavyWork

MAX_BYTES = 2 * 2**20
MAX_ROWS = 10_000
MAX_CELL = 5000  # characters; longer cells are cut, and are not URLs
TITLES = {"url": _("address"), "alias": _("custom name"), "expires_in": _("lifetime")}
COLUMNS = tuple(TITLES)
# Other titles of the same columns. These, and TITLES in every language, are compared without case,
# spaces and punctuation.
OTHER_TITLES: dict[str, tuple[StrOrPromise, ...]] = {
    "url": (
        *("long_url", "target", "target_url", "destination", "destination_url", "original_url"),
        *(_("Destination"), "where it leads"),
        *("ссылка", "длинная ссылка", "исходная ссылка", "url-адрес"),
    ),
    # The titles of Bitly and Shlink, and what people write.
    "alias": ("custom back-half", "short code", "короткое имя", "псевдоним", "алиас"),
    "expires_in": ("lifetime in seconds", "ttl", "срок действия", "срок жизни", "срок в секундах"),
}
SEPARATORS = ",;\t"
NO_SEPARATOR = "\x1f"  # separator of a file with one column
_QUOTED = re.compile(r'"[^"]*"')
_SEPARATOR_LINE = re.compile(r'\s*"?sep=([^\w\s"]|\t)"?[ ,;\t]*(?:\r\n|\r|\n)', re.IGNORECASE)
_PUNCTUATION = re.compile(r"[\W_]+")
_ESCAPED = re.compile(r"\A'(?=[=+\-@0-9])")  # keeps text from being a formula in our exports
_CUT_ENTITY = re.compile(r"&(?:amp|#38|#x26)\Z", re.IGNORECASE)  # in addresses copied from HTML
ENCODINGS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}

JOB = Job("link_imports", _("imports of links"))
BATCH_SIZE = 250  # rows per commit
MAX_UNFINISHED = 5  # imports of a company
MAX_FINISHED = 50
MAX_FINISHED_UNAPPROVED = 5  # each takes some megabytes, and anybody may sign up
RETENTION = timedelta(days=7)
READING = HeavyWork("files of links read", limit=1, max_waiting=12, company_limit=2)  # seconds
State = LinkImport.State
# Data frames turn whole numbers into decimals once a cell of their column is empty.
_FRACTION = re.compile(r"[.,]0{1,2}\Z")
GIVEN_UP = _("The other rows could not be imported because of a fault on our side.")
TOO_MANY_CELLS = _(
    "The row has more cells than columns: put an address with a comma or a semicolon in quotes."
)
UNQUOTED_ADDRESS = _(
    "It is unclear where the address ends: put it in quotes, or name the columns in the first row."
)


@dataclass(frozen=True, slots=True)
class CsvRows:
    rows: list[dict[str, str]]  # by column name, without empty cells
    ignored: list[str]  # titles of unknown columns
    # row's index → reason for making no link
    faults: dict[int, StrOrPromise] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Header:
    columns: Sequence[str]  # empty for an unknown column
    ignored: list[str]
    is_written: bool = True


@dataclass(frozen=True, slots=True)
class _Line:
    cells: list[str]
    is_quoted: bool  # its first cell


def read(content: bytes) -> CsvRows:
    """Reads a table of links; raises a ValidationError for anything else.

    A header names the columns; without one they are url, alias, expires_in.
    """
    if len(content) > MAX_BYTES:
        raise ValidationError(_("The file is larger than 2 MB: split it."))
    text, separator = _split_separator(_decode(content))
    lines = _filled_lines(text, separator)
    first = next(lines, None)
    if first is None:
        raise ValidationError(_("The file is empty."))
    columns = [_column(cell) for cell in first.cells]
    if "url" in columns:
        ignored = [cell for cell in first.cells if cell and not _column(cell)]
        return _table(lines, _Header(columns, ignored), separator)
    return _table(chain([first], lines), _Header(COLUMNS, [], is_written=False), separator)


def _decode(content: bytes) -> str:
    """Decodes UTF-8, or the encodings of older spreadsheets: UTF-16, Windows-1251."""
    encoding = next((name for bom, name in ENCODINGS.items() if content.startswith(bom)), None)
    for name in (encoding or _encoding_without_mark(content), "cp1251"):
        try:
            text = content.decode(name)
        except UnicodeError:
            continue
        if "\x00" not in text:
            return text
    raise ValidationError(_("This is not a text file: save the table as CSV."))


def _encoding_without_mark(content: bytes) -> str:
    """Detects UTF-16 by the zero octets of the Latin letters at the start of an address."""
    head = content[:64]
    if head[1::2].count(0) > len(head) // 4:
        return "utf-16-le"
    return "utf-16-be" if head[::2].count(0) > len(head) // 4 else "utf-8"


def _split_separator(text: str) -> tuple[str, str]:
    """The text without a `sep=;` line, and its separator."""
    if declared := _SEPARATOR_LINE.match(text):
        return text[declared.end() :], declared[1]
    head = text[:MAX_CELL].lstrip()
    title = head.partition("\n")[0]
    if "|" in title and "url" in map(_column, title.split("|")):
        return text, "|"
    # In a file without a header the first row may have only an address.
    for part in (title, "" if _column(title) else head):
        bare = _QUOTED.sub("", part)
        separator = max(SEPARATORS, key=bare.count)
        if separator in bare:
            return text, separator
    return text, NO_SEPARATOR


def _filled_lines(text: str, separator: str) -> Iterator[_Line]:
    """The rows with content."""
    raw_lines: list[str] = []  # lines of text that form the row
    try:
        for cells in csv.reader(
            _record_lines(StringIO(text, newline=""), raw_lines),
            delimiter=separator,
            skipinitialspace=True,
        ):
            is_quoted = raw_lines[0].lstrip().startswith('"')
            raw_lines.clear()
            stripped = [_ESCAPED.sub("", cell.strip()[:MAX_CELL]) for cell in cells]
            if any(stripped):
                yield _Line(stripped, is_quoted)
    except csv.Error:
        raise ValidationError(_("This is not a CSV file: save the table as CSV.")) from None


def _record_lines(lines: Iterable[str], raw_lines: list[str]) -> Iterator[str]:
    for line in lines:
        raw_lines.append(line)
        yield line


def _table(lines: Iterable[_Line], header: _Header, separator: str) -> CsvRows:
    table = CsvRows([], header.ignored)
    for line in lines:
        if fault := _fault_of(line, header, separator):
            table.faults[len(table.rows)] = fault
            table.rows.append({"url": separator.join(line.cells)})
        else:
            table.rows.append(_cells_by_column(line.cells, header.columns))
        if len(table.rows) > MAX_ROWS:
            raise ValidationError(_("A file may have at most 10,000 rows: split it."))
    if not table.rows:
        raise ValidationError(_("The file has a header, but no rows."))
    return table


def _fault_of(line: _Line, header: _Header, separator: str) -> StrOrPromise:
    """The fault of ambiguous cells: an address with a separator must not be cut. Empty if none."""
    if any(line.cells[len(header.columns) :]):
        return TOO_MANY_CELLS
    is_cut = separator == "," and "?" in line.cells[0] and any(line.cells[1:])
    # An address may contain one, and a list separated by them names its columns.
    is_unclear = is_cut or (separator == NO_SEPARATOR and "|" in line.cells[0])
    if is_unclear and not (header.is_written or line.is_quoted):
        return UNQUOTED_ADDRESS
    return UNQUOTED_ADDRESS if any(_CUT_ENTITY.search(cell) for cell in line.cells[:-1]) else ""


def _cells_by_column(cells: Sequence[str], columns: Sequence[str]) -> dict[str, str]:
    row: dict[str, str] = {}
    for column, cell in zip(columns, cells, strict=False):
        if column and cell:
            row.setdefault(column, cell)
    return row


def _column(title: str) -> str:
    """The column of this title; empty for an unknown one."""
    return _columns_by_title().get(_comparable_title(title), "")


@cache
def _columns_by_title() -> dict[str, str]:
    columns: dict[str, str] = {}
    for language, _name in settings.LANGUAGES:
        with translation.override(language):
            for column, title in TITLES.items():
                for written in (column, title, *OTHER_TITLES[column]):
                    columns.setdefault(_comparable_title(str(written)), column)
    return columns


def _comparable_title(title: str) -> str:
    return _PUNCTUATION.sub("", title).casefold()


def upload(*, company: Company, user: User, mode: str, name: str, content: bytes) -> LinkImport:
    """Stores and checks the rows; makes no link yet. Raises ValidationError, DomainError."""
    _check_unfinished(company)  # checked before the work of reading the file
    principal = api_keys.without_key(company, mode)
    check_status(principal)
    with READING.turn(company.pk):
        table = read(content)
        faults = [
            str(table.faults.get(index, "")) or _fault(row, principal)
            for index, row in enumerate(table.rows)
        ]
    job = LinkImport(
        company=company,
        mode=mode,
        created_by=user,
        language=user.language,
        file_name=name[:120],
        ignored=[mask_phones_in(title) for title in table.ignored[:20]],
        total=len(table.rows),
        refused=sum(bool(fault) for fault in faults),
    )
    rows = [
        LinkImportRow(link_import=job, number=number, error=fault, **_columns(row))
        for number, (row, fault) in enumerate(zip(table.rows, faults, strict=True), start=1)
    ]
    _store(job, rows)
    return job


@transaction.atomic
def _store(job: LinkImport, rows: Sequence[LinkImportRow]) -> None:
    company = Company.objects.select_for_update(no_key=True).get(pk=job.company_id)
    _check_unfinished(company)  # checked again: parallel uploads are serialised here
    is_approved = company.status == Company.Status.APPROVED
    limit = MAX_FINISHED if is_approved else MAX_FINISHED_UNAPPROVED
    delete_all_but_newest(company.link_imports.finished(), limit)
    job.save(force_insert=True)
    LinkImportRow.objects.bulk_create(rows, batch_size=1000)


def _check_unfinished(company: Company) -> None:
    if company.link_imports.unfinished().count() >= MAX_UNFINISHED:
        raise ValidationError(_("Five files are waiting already: start or discard them first."))


def _columns(row: dict[str, str]) -> dict[str, str]:
    limits = {"url": 2048, "alias": 100, "expires_in": 20}
    return {name: row.get(name, "")[:limit] for name, limit in limits.items()}


def _fault(row: dict[str, str], principal: Principal) -> str:
    try:
        _new_link(row, principal)
    except DomainError as error:
        return _refusal_text(error)
    return ""


def _new_link(row: dict[str, str], principal: Principal) -> NewLink:
    """The link of a row, by the rules of `POST /links/shorten`."""
    payload: dict[str, Any] = dict(row)
    if lifetime := row.get("expires_in", ""):
        seconds = parse_integer(_FRACTION.sub("", lifetime))
        payload["expires_in"] = lifetime if seconds is None else seconds
    fields = RequestFields(payload)
    link = parsing.new_link(fields, principal)
    fields.check()
    assert link is not None  # noqa: S101 - `check` raises where it is
    return link


def _refusal_text(error: DomainError) -> str:
    errors = error.errors or {}
    if not errors:
        return str(error.message)[:300]
    titles = TITLES
    parts = [
        f"{titles.get(name, name)}: {' '.join(str(text) for text in texts)}"
        for name, texts in errors.items()
    ]
    return "; ".join(parts)[:300]


@transaction.atomic
def start(*, link_import: LinkImport, user: User, ip: str | None) -> bool:
    """Starts the import; False if it was started or discarded before."""
    if not LinkImport.objects.filter(pk=link_import.pk).start():
        return False
    count = link_import.total - link_import.refused
    subject = f"{link_import.file_name}: {count}"
    record("links.imported", subject, company=link_import.company, user=user, ip=ip)
    return True


def discard(link_import: LinkImport) -> bool:
    """Deletes an import that was not started. False for one that was: its links stay."""
    drafts = LinkImport.objects.filter(state=State.DRAFT)
    return bool(delete_with_parts(drafts.filter(pk=link_import.pk)))


def make_next() -> bool:
    """Makes the next links of the import that has waited longest; False if there is none."""
    return JOB.do_next(LinkImport.objects.running(), _make_next_rows, _give_up)


def _make_next_rows(job: LinkImport) -> None:
    with translation.override(job.language):
        _make_rows(job)


def _give_up(job: LinkImport) -> None:
    with translation.override(job.language):
        job.finish(State.STOPPED, reason=str(GIVEN_UP))


def _make_rows(job: LinkImport) -> None:
    rows = list(job.rows.unmade()[:BATCH_SIZE])
    principal = api_keys.without_key(job.company, job.mode)
    try:
        check_status(principal)
        with transaction.atomic():  # a refusal rolls back the links of these rows
            _make(rows, job, principal)
    except DomainError as error:
        job.finish(State.STOPPED, reason=_refusal_text(error))
        return
    job.progress(created=sum(bool(row.short_url) for row in rows))
    if len(rows) < BATCH_SIZE:
        job.finish(State.DONE)


def _make(rows: Sequence[LinkImportRow], job: LinkImport, principal: Principal) -> None:
    new_links: list[tuple[LinkImportRow, NewLink]] = []
    for row in rows:
        try:
            new_links.append((row, _new_link(row.cells, principal)))
        except DomainError as error:  # the company's settings have changed since the upload
            row.error = _refusal_text(error)
    links = shorten_many(
        owner=principal, new_links=[link for _row, link in new_links], batch_id=job.pk
    )
    for (row, _link), result in zip(new_links, links, strict=True):
        if isinstance(result, Link):
            row.short_url = result.short_url
        else:
            row.error = _refusal_text(result)
    LinkImportRow.objects.bulk_update(rows, ["short_url", "error"])


def purge(limit: int) -> int:
    """Deletes files a week after their upload; their links stay."""
    old = LinkImport.objects.filter(created_at__lt=timezone.now() - RETENTION).exclude(
        state=State.RUNNING
    )
    batch = max(1, limit // MAX_ROWS)
    deleted = delete_rows(old, batch)
    return limit if deleted == batch else deleted
