"""The cabinet's pages that make links of a CSV file: upload, preview, progress, result."""

from collections.abc import Iterator
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _t
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from accounts.models import Company, Mode
from accounts.people.roles import CabinetRequest, can_change_settings, member_required
from cabinet.spreadsheets import csv_download
from catalogue.errors import DomainError
from links import link_imports
from links.models import LinkImport

SHOWN_ROWS = 20
SHOWN_IMPORTS = 10


class ImportForm(forms.Form):
    file = forms.FileField(
        label=_("CSV file"),
        max_length=120,
        widget=forms.ClearableFileInput(attrs={"accept": ".csv,.txt,.tsv,text/csv"}),
    )
    mode = forms.ChoiceField(
        label=_("Mode"),
        choices=[
            (Mode.LIVE, _("Live: for your customers")),
            (Mode.TEST, _("Test: to try it")),
        ],
        initial=Mode.LIVE,
        widget=forms.RadioSelect(attrs={"class": "form-check-input"}),
    )


@member_required(can_change_settings, can_change_settings)
def link_import(request: CabinetRequest) -> HttpResponse:
    is_approved = request.company.status == Company.Status.APPROVED
    initial = {"mode": Mode.LIVE if is_approved else Mode.TEST}
    form = ImportForm(request.POST or None, request.FILES or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        try:
            uploaded = _upload(request, form)
        except ValidationError as error:
            form.add_error("file", error)
        except DomainError as refused:
            form.add_error(None, refused.words)
        else:
            return redirect("link-import-detail", uploaded.pk)
    latest = request.company.link_imports.order_by("-id")[:SHOWN_IMPORTS]
    return render(request, "cabinet/link_import.html", {"form": form, "imports": latest})


def _upload(request: CabinetRequest, form: ImportForm) -> LinkImport:
    file = form.cleaned_data["file"]
    return link_imports.upload(
        company=request.company,
        user=request.user,
        mode=form.cleaned_data["mode"],
        name=file.name,
        content=file.read(),
    )


@member_required(can_change_settings)
def import_detail(request: CabinetRequest, pk: UUID) -> HttpResponse:
    job = _import(request, pk)
    context = {"one": job, **_rows(job)}
    return render(request, "cabinet/link_import_detail.html", context)


def _rows(job: LinkImport) -> dict[str, object]:
    rows = job.rows.order_by("number")
    return {
        "rows": rows.filter(error="")[:SHOWN_ROWS],
        "faults": rows.exclude(error="")[:SHOWN_ROWS],
        "shown": SHOWN_ROWS,
    }


@member_required(can_change_settings)
def import_status(request: CabinetRequest, pk: UUID) -> HttpResponse:
    """The fragment that the page polls while links are being made."""
    return render(request, "cabinet/link_import_status.html", {"one": _import(request, pk)})


@require_POST
@member_required(to_change=can_change_settings)
def import_start(request: CabinetRequest, pk: UUID) -> HttpResponse:
    job = _import(request, pk)
    link_imports.start(link_import=job, **request.actor)
    return redirect("link-import-detail", pk)


@require_POST
@member_required(to_change=can_change_settings)
def import_discard(request: CabinetRequest, pk: UUID) -> HttpResponse:
    if not link_imports.discard(_import(request, pk)):
        return redirect("link-import-detail", pk)
    messages.success(request, _t("The file is discarded."))
    return redirect("link-import")


@member_required(can_change_settings)
def import_result(request: CabinetRequest, pk: UUID) -> StreamingHttpResponse:
    """The file's rows in their order, each with its short link or its error."""
    job = _import(request, pk)
    return csv_download(_result(job), f"kvitok-{job.batch}.csv")


def _result(job: LinkImport) -> Iterator[list[str | int]]:
    yield ["row", "url", "alias", "short_url", "error"]  # titles that a program can rely on
    for row in job.rows.order_by("number").iterator():
        yield [row.number, row.url, row.alias, row.short_url, row.error]


def _import(request: CabinetRequest, pk: UUID) -> LinkImport:
    return get_object_or_404(request.company.link_imports, pk=pk)
