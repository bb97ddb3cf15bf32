"""Makes the links of a file: each row once, however often a worker dies on the way.

The links of a chunk, their rows' results and the progress are one commit, under a lock on the
import's row. All links are one batch, whose id is the import's.
"""

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone, translation
from django.utils.translation import gettext_lazy as _

from accounts.audit import record
from accounts.jobs import Job, delete_rows, delete_unfinished
from accounts.keys import api_keys
from accounts.keys.principal import Principal
from accounts.masked_phones import mask_phones_in
from accounts.models import Company, User
from api.base_view import check_status
from api.request_fields import RequestFields
from catalogue.errors import DomainError
from links import csv_files
from links.api import parsing
from links.make import create
from links.make.new_link import NewLink
from links.models import Link, LinkImport, LinkImportRow
from parsing.integers import parse_integer
from storage.heavy_work import HeavyWork

JOB = Job("link_imports", _("imports of links"))
CHUNK = 250  # links made in one commit
MAX_UNFINISHED = 5  # imports of one company
KEPT = timedelta(days=7)
READING = HeavyWork("files of links read", most=1, waiting=12, share=2)  # seconds each
State = LinkImport.State
# Data frames take whole numbers for decimals once a cell of their column is empty.
_FRACTION = re.compile(r"[.,]0{1,2}\Z")
GIVEN_UP = _("The other rows could not be imported because of a fault on our side.")


def upload(*, company: Company, user: User, mode: str, name: str, content: bytes) -> LinkImport:
    """Stores and checks the rows; makes no link yet. Raises ValidationError, DomainError."""
    _check_unfinished(company)  # before the work of reading it
    principal = api_keys.without_key(company, mode)
    check_status(principal)
    with READING.turn(company.pk):
        table = csv_files.read(content)
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
    with transaction.atomic():
        Company.objects.select_for_update(no_key=True).get(pk=company.pk)  # parallel uploads wait
        _check_unfinished(company)
        job.save(force_insert=True)
        LinkImportRow.objects.bulk_create(rows, batch_size=1000)
    return job


def _check_unfinished(company: Company) -> None:
    if company.link_imports.unfinished().count() >= MAX_UNFINISHED:
        raise ValidationError(_("Five files are waiting already: start or discard them first."))


def _columns(row: dict[str, str]) -> dict[str, str]:
    limits = {"url": 2048, "alias": 100, "expires_in": 20}
    return {name: row.get(name, "")[:limit] for name, limit in limits.items()}


def _fault(row: dict[str, str], principal: Principal) -> str:
    try:
        _wanted(row, principal)
    except DomainError as refused:
        return _words(refused)
    return ""


def _wanted(row: dict[str, str], principal: Principal) -> NewLink:
    """By the rules of `POST /links/shorten`."""
    payload: dict[str, Any] = dict(row)
    if lifetime := row.get("expires_in", ""):
        seconds = parse_integer(_FRACTION.sub("", lifetime))
        payload["expires_in"] = lifetime if seconds is None else seconds
    fields = RequestFields(payload)
    link = parsing.new_link(fields, principal)
    fields.check()
    assert link is not None  # noqa: S101 - `check` raises where it is
    return link


def _words(refused: DomainError) -> str:
    named = refused.errors or {}
    if not named:
        return str(refused.message or refused.error.message)[:300]
    titles = csv_files.TITLES
    parts = [
        f"{titles.get(name, name)}: {' '.join(str(text) for text in texts)}"
        for name, texts in named.items()
    ]
    return "; ".join(parts)[:300]


@transaction.atomic
def start(*, link_import: LinkImport, user: User, ip: str | None) -> bool:
    """Returns False if it was started or discarded before."""
    if not LinkImport.objects.filter(pk=link_import.pk).start():
        return False
    count = link_import.total - link_import.refused
    subject = f"{link_import.file_name}: {count}"
    record("links.imported", subject, company=link_import.company, user=user, ip=ip)
    return True


def discard(link_import: LinkImport) -> bool:
    """Deletes a file that was not started; what it has made stays."""
    drafts = LinkImport.objects.filter(state=State.DRAFT)
    return bool(delete_unfinished(drafts.filter(pk=link_import.pk)))


def make_next() -> bool:
    """Makes the next links of the import that waits longest; False if there is none."""
    return JOB.next_of(LinkImport.objects.running(), _make_next_chunk, _give_up)


def _make_next_chunk(job: LinkImport) -> None:
    with translation.override(job.language):
        _make_chunk(job)


def _give_up(job: LinkImport) -> None:
    with translation.override(job.language):
        job.finish(State.STOPPED, reason=str(GIVEN_UP))


def _make_chunk(job: LinkImport) -> None:
    rows = list(job.rows.unmade()[:CHUNK])
    principal = api_keys.without_key(job.company, job.mode)
    try:
        check_status(principal)
        with transaction.atomic():  # a refusal takes back what the chunk has made
            _make(rows, job, principal)
    except DomainError as refused:
        job.finish(State.STOPPED, reason=_words(refused))
        return
    job.progress(made=sum(bool(row.short_url) for row in rows))
    if len(rows) < CHUNK:
        job.finish(State.DONE)


def _make(rows: Sequence[LinkImportRow], job: LinkImport, principal: Principal) -> None:
    wanted: list[tuple[LinkImportRow, NewLink]] = []
    for row in rows:
        try:
            wanted.append((row, _wanted(row.cells, principal)))
        except DomainError as refused:  # the company's settings have changed since the upload
            row.error = _words(refused)
    links = create.shorten_many(
        owner=principal, wanted=[link for _row, link in wanted], batch_id=job.pk
    )
    for (row, _link), made in zip(wanted, links, strict=True):
        if isinstance(made, Link):
            row.short_url = made.short_url
        else:
            row.error = _words(made)
    LinkImportRow.objects.bulk_update(rows, ["short_url", "error"])


def purge(limit: int) -> int:
    """Deletes files a week after their upload; their links stay."""
    old = LinkImport.objects.filter(created_at__lt=timezone.now() - KEPT).exclude(
        state=State.RUNNING
    )
    batch = max(1, limit // csv_files.MAX_ROWS)
    deleted = delete_rows(old, batch)
    return limit if deleted == batch else deleted
