"""Downloads of lists, and the page of a member's long files.

Each file belongs to a member, with the data that the member's role sees.
"""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from accounts.audit import record
from accounts.jobs import delete_with_parts
from accounts.models import CsvExport
from accounts.people.cabinet_access import CabinetRequest, anyone, member_required
from cabinet import csv_exports
from cabinet.csv_exports import KINDS, CsvKind, Download
from cabinet.spreadsheets import csv_download, csv_response, page_of_filter
from catalogue.languages import page_languages


@require_GET
@member_required(is_recorded=True)
def csv_export(request: CabinetRequest, kind: str) -> HttpResponseBase:
    """The filtered list as a CSV file; a long one is made in the background."""
    listed = _kind(request, kind)
    form = listed.form(request.GET, request.member)
    if not form.is_valid():
        return page_of_filter(request, listed.page)
    filters = form.filters()
    download = Download(request.member, filters, timezone.now())
    if csv_exports.is_long(listed, download):
        return redirect(f"{reverse('csv-file-request', args=[kind])}?{form.query}")
    record(listed.action, listed.subject(filters), company=request.company, **request.actor)
    mode = listed.mode_of(filters)
    name = f"kvitok-{kind}-{mode and f'{mode}-'}{timezone.localdate():%Y-%m-%d}"
    return csv_download(csv_exports.rows_of(listed, download), f"{name}.csv")


@member_required(anyone, anyone)
def csv_file_request(request: CabinetRequest, kind: str) -> HttpResponse:
    """Offers a file with the filter in the address; `POST` requests it."""
    listed = _kind(request, kind)
    query = request.GET.urlencode()
    error = ""
    if request.method == "POST":
        try:
            csv_exports.start(
                kind=listed,
                member=request.member,
                query=query,
                language=page_languages.active(),
                ip=request.actor["ip"],
            )
        except ValidationError as refusal:
            error = " ".join(refusal.messages)
        else:
            return redirect("csv-files")
    context = {"kind": listed, "query": query, "error": error, "short": csv_exports.SHORT}
    return render(request, "cabinet/csv_files.html", _files(request) | context)


@member_required()
def csv_files(request: CabinetRequest) -> HttpResponse:
    return render(request, "cabinet/csv_files.html", _files(request))


def _files(request: CabinetRequest) -> dict[str, Any]:
    rows = CsvExport.objects.filter(company=request.company, user=request.user)
    newest = rows.order_by("-created_at", "-id")[: CsvExport.MAX_FINISHED]
    return {"files": [_shown(request, row) for row in newest], "days": CsvExport.LIFETIME.days}


def _shown(request: CabinetRequest, row: CsvExport) -> dict[str, Any]:
    is_of_role = row.role == request.member.role
    return {"file": row, "title": KINDS[row.kind].title, "is_of_role": is_of_role}


@member_required()
def csv_file_status(request: CabinetRequest, pk: UUID) -> HttpResponse:
    """The fragment that the page polls until the file is ready."""
    context = _shown(request, _export_of_member(request, pk))
    return render(request, "cabinet/csv_file.html", context)


@member_required()
def csv_file(request: CabinetRequest, pk: UUID) -> StreamingHttpResponse:
    row = _export_of_member(request, pk)
    if row.state != CsvExport.State.READY or row.role != request.member.role:
        raise Http404
    name = f"kvitok-{row.kind}-{row.created_at:%Y-%m-%d-%H%M}.csv"
    return csv_response(csv_exports.content(row), name)


@require_POST
@member_required(anyone, anyone)
def csv_file_delete(request: CabinetRequest, pk: UUID) -> HttpResponse:
    delete_with_parts(CsvExport.objects.filter(pk=_export_of_member(request, pk).pk))
    messages.success(request, _("File deleted."))
    return redirect("csv-files")


def _kind(request: CabinetRequest, name: str) -> CsvKind:
    if name not in KINDS:
        raise Http404
    if not KINDS[name].allows(request.member):
        raise PermissionDenied
    return KINDS[name]


def _export_of_member(request: CabinetRequest, pk: UUID) -> CsvExport:
    return get_object_or_404(CsvExport, company=request.company, user=request.user, pk=pk)
