"""Makes a company's archive in the background: each row once, however often a worker dies.

The lines of a part and its end position are one commit, under a lock on the export's row. The ZIP
is assembled from the parts during the download, so neither step needs much memory.
"""

import zlib
from collections.abc import Iterator
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone, translation
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.audit import record
from accounts.jobs import Job, delete_all_but_newest
from accounts.models import Company, Member
from api.pagination import Position, batch_after
from cabinet.spreadsheets import csv_lines
from catalogue.languages import page_languages
from persons.export_files import FILES, ExportFile, settings_json
from persons.models import CompanyExport, CompanyExportPart

JOB = Job("company_exports", _("archives of companies"))
PART_SIZE = 2000  # rows per commit
README = "README.txt"
SETTINGS = "settings.json"
State = CompanyExport.State


@transaction.atomic
def start(*, member: Member, language: str, ip: str | None) -> CompanyExport:
    """Starts an export; raises ValidationError while another one of the company is being made."""
    company = member.company
    Company.objects.select_for_update(no_key=True).get(pk=company.pk)
    if CompanyExport.objects.unfinished().filter(company=company).exists():
        raise ValidationError(_("An archive is already being made: wait for it."), code="running")
    earlier = CompanyExport.objects.finished().filter(company=company)
    delete_all_but_newest(earlier, CompanyExport.MAX_FINISHED)
    record("company.exported", company, company=company, user=member.user, ip=ip)
    return CompanyExport.objects.create(company=company, user=member.user, language=language)


def make_next() -> bool:
    """Makes the next part of the archive that has waited longest; False if there is none."""
    rows = CompanyExport.objects.unfinished().select_related("company")
    return JOB.do_next(rows, _make_next_part, lambda row: row.finish(State.FAILED))


def _make_next_part(row: CompanyExport) -> None:
    member = Member.objects.filter(user=row.user_id, company=row.company_id).first()
    if member is None or not member.can_manage_members:  # the requester is no longer an owner
        row.finish(State.STOPPED)
    elif row.file >= len(FILES):
        row.finish(State.READY)
    else:
        _make_part(row, FILES[row.file])


def _make_part(row: CompanyExport, file: ExportFile) -> None:
    if not row.parts.exists():
        with translation.override(row.language):
            _store(row, README, readme(row.company).encode())
        _store(row, SETTINGS, settings_json(row.company))
    queryset = file.rows_of(row.company)
    start = None
    if row.reached_at is not None:
        reached = queryset.model._meta.pk.to_python(row.reached_id)  # noqa: SLF001 - public in Django
        start = Position(row.reached_at, reached)
    rows, end = batch_after(queryset, start, PART_SIZE)
    cells = file.cells(rows, with_heading=start is None)
    text = "".join(csv_lines(cells, page_languages.worldwide(), is_continued=start is not None))
    _store(row, file.name, text.encode())
    row.rows += len(rows)
    if end is None:
        row.file += 1
        row.reached_at = None
        row.reached_id = ""
    else:
        row.reached_at = end.created_at
        row.reached_id = str(end.id)
    row.save(update_fields=["rows", "file", "reached_at", "reached_id"])


def _store(row: CompanyExport, name: str, body: bytes) -> None:
    CompanyExportPart.objects.create(
        export=row, number=row.parts.count(), name=name, body=zlib.compress(body)
    )


def readme(company: Company) -> str:
    """The description of the archive, file by file and column by column."""
    lines = [
        gettext("Export of the company “%(name)s”, %(at)s UTC")
        % {"name": company.one_line_name, "at": f"{timezone.now():%Y-%m-%d %H:%M}"},
        "",
        gettext(
            "CSV: UTF-8, commas, a line of headings. Times are ISO 8601 in UTC, tokens whole "
            "numbers, amounts decimal numbers, lists and objects JSON. An apostrophe keeps a "
            "spreadsheet from evaluating or shortening the text behind it: leave it out."
        ),
        gettext(
            "There are no secrets: no keys, no secrets of webhooks, no codes. Phones that are past "
            "their retention time have only their beginning."
        ),
        "",
        f"{SETTINGS}: " + gettext("Settings, policy, budgets, texts of codes and billing details."),
    ]
    for file in FILES:
        lines += ["", f"{file.name}: {file.about}", "  " + ", ".join(file.columns)]
    return "\n".join(lines) + "\n"


class _Chunks:
    """A write-only file without seek, whose content is taken out as it grows."""

    def __init__(self) -> None:
        self.pending: list[bytes] = []

    def write(self, data: bytes) -> int:
        self.pending.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        pass

    def take(self) -> bytes:
        content = b"".join(self.pending)
        self.pending = []
        return content


def content(row: CompanyExport) -> Iterator[bytes]:
    """The ZIP, with one part at a time in memory."""
    chunks = _Chunks()
    modified_at = timezone.localtime(row.finished_at or row.created_at).timetuple()[:6]
    names = list(dict.fromkeys(row.parts.order_by("number").values_list("name", flat=True)))
    with ZipFile(chunks, "w") as archive:  # type: ignore[call-overload]  # a file that only grows
        for name in names:
            info = ZipInfo(name, modified_at)
            info.compress_type = ZIP_DEFLATED
            with archive.open(info, "w", force_zip64=True) as target:
                for part in _parts(row, name):
                    target.write(zlib.decompress(part))
                    yield chunks.take()
    yield chunks.take()


def _parts(row: CompanyExport, name: str) -> Iterator[bytes]:
    numbers = list(row.parts.filter(name=name).order_by("number").values_list("number", flat=True))
    for number in numbers:
        # Raises if the export was deleted in the meantime: a broken download, not a short archive.
        yield bytes(row.parts.values_list("body", flat=True).get(number=number))
