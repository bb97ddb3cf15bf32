"""The cabinet's list of short links, stops of links, and imports."""

from collections.abc import Iterator
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_POST

from accounts.form_pages import PageLink, confirm_page, refusals_shown
from accounts.models import Company, Mode
from accounts.people.cabinet_access import (
    CabinetRequest,
    can_change_settings,
    can_manage_members,
    member_required,
)
from api.pagination import page_or_first
from cabinet.forms import grouped
from cabinet.spreadsheets import csv_download
from catalogue.errors import DomainError
from links import link_imports
from links.manage import stopping
from links.manage.stopping import BatchSummary
from links.models import LinkImport
from links.web import link_csv
from links.web.forms import LinkFilter


@member_required()
def link_list(request: CabinetRequest) -> HttpResponse:
    form = LinkFilter(request.GET)
    filters = form.filters()
    links = link_csv.matching(request.member, filters)
    if links.is_hidden:
        form.add_error("search", _("Enter a full short link or words: your role sees no digits."))
    context = {
        "form": form,
        "mode": form.mode_chosen,
        "batch": stopping.batch_summary(
            request.company, form.mode_chosen, filters.get("batch", "")
        ),
        "stop": request.company.link_stops.filter(batch_id=None).first(),
        "is_filtered": bool(filters.keys() - {"mode"}),
        "page": page_or_first(links.rows, request.GET, history=links.history),
    }
    return render(request, "cabinet/link_list.html", context)


@member_required(can_change_settings, can_change_settings)
def batch_stop(request: CabinetRequest, public_id: str) -> HttpResponse:
    batch = _batch(request, public_id)
    if request.method == "POST":
        with refusals_shown(request):
            stopping.stop(company=request.company, batch_id=batch.id, **request.actor)
            messages.success(request, _("The batch is stopped: none of its links work now."))
        return redirect(batch.url)
    stopped = ngettext(
        "%(n)s link will stop working within a second.",
        "%(n)s links will stop working within a second.",
        batch.count,
    )
    consequence = _(
        "Visitors are told that they no longer work. Statistics are kept, and the batch can be "
        "released again."
    )
    return confirm_page(
        request,
        _("Stop the whole batch"),
        f"{stopped % {'n': batch.count}} {consequence}",
        verb=_("Stop the batch"),
        back=PageLink(batch.url, _("Short links")),
        subject=format_html("<code>{}</code>", batch.public_id),
    )


@require_POST
@member_required(can_change_settings, can_change_settings)
def batch_release(request: CabinetRequest, public_id: str) -> HttpResponse:
    batch = _batch(request, public_id)
    _release(request, batch.id)
    return redirect(batch.url)


# The role that may invite members may also stop all links at once.
@member_required(can_manage_members, can_manage_members)
def links_stop(request: CabinetRequest) -> HttpResponse:
    if request.method == "POST":
        stopping.stop(company=request.company, batch_id=None, **request.actor)
        messages.success(request, _("All links are stopped: none of them work now."))
        return redirect("link-list")
    return confirm_page(
        request,
        _("Stop all links"),
        _(
            "Within a second none of the company's short links work, including those in messages "
            "already sent. New ones can be created but do not work either."
        ),
        _(
            "Use this for a leaked key or a mailing gone wrong. Statistics are kept, and you can "
            "release the links again."
        ),
        verb=_("Stop all links"),
        back=PageLink(f"{reverse('settings')}#stop-links", _("Settings")),
    )


@require_POST
@member_required(can_manage_members, can_manage_members)
def links_release(request: CabinetRequest) -> HttpResponse:
    _release(request)
    return redirect("link-list")


def _release(request: CabinetRequest, batch_id: UUID | None = None) -> None:
    with refusals_shown(request):
        stopping.release(company=request.company, batch_id=batch_id, **request.actor)
        messages.success(request, _("The links work again."))


def _batch(request: CabinetRequest, public_id: str) -> BatchSummary:
    for mode in Mode.values:
        if batch := stopping.batch_summary(request.company, mode, public_id):
            return batch
    raise Http404


SHOWN_ROWS = 20
SHOWN_IMPORTS = 10


class ImportForm(forms.Form):
    file = forms.FileField(
        label=gettext_lazy("CSV file"),
        max_length=120,
        widget=forms.ClearableFileInput(attrs={"accept": ".csv,.txt,.tsv,text/csv"}),
    )
    mode = forms.ChoiceField(
        label=gettext_lazy("Mode"),
        choices=[
            (Mode.LIVE, gettext_lazy("Live: for your customers")),
            (Mode.TEST, gettext_lazy("Test: to try it")),
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
        except DomainError as refusal:
            form.add_error(None, refusal.texts)
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
    context = {**_status(job), **_row_lists(job)}
    return render(request, "cabinet/link_import_detail.html", context)


HEADINGS = {
    LinkImport.State.DRAFT: gettext_lazy("Check the rows, then create the links"),
    LinkImport.State.RUNNING: gettext_lazy("Links are being created"),
    LinkImport.State.DONE: gettext_lazy("All rows have been processed"),
    LinkImport.State.STOPPED: gettext_lazy("Stopped before it was finished"),
}


def _status(job: LinkImport) -> dict[str, object]:
    counts = [ngettext("%(shown)s row", "%(shown)s rows", job.total) % _shown_count(job.total)]
    if job.state != LinkImport.State.DRAFT:
        text = ngettext("%(shown)s link created", "%(shown)s links created", job.made)
        counts.append(text % _shown_count(job.made))
    if job.refused:
        text = ngettext("%(shown)s with an error", "%(shown)s with an error", job.refused)
        counts.append(text % _shown_count(job.refused))
    heading = HEADINGS[LinkImport.State(job.state)]
    return {"link_import": job, "heading": heading, "counts": " · ".join(counts)}


def _shown_count(number: int) -> dict[str, str]:
    return {"shown": grouped(number)}


def _row_lists(job: LinkImport) -> dict[str, object]:
    rows = job.rows.order_by("number")
    return {
        "rows": rows.filter(error="")[:SHOWN_ROWS],
        "faults": rows.exclude(error="")[:SHOWN_ROWS],
        "shown": SHOWN_ROWS,
    }


@member_required(can_change_settings)
def import_status(request: CabinetRequest, pk: UUID) -> HttpResponse:
    """The fragment polled by the page while links are being made."""
    return render(request, "cabinet/link_import_status.html", _status(_import(request, pk)))


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
    messages.success(request, _("The file is discarded."))
    return redirect("link-import")


@member_required(can_change_settings)
def import_result(request: CabinetRequest, pk: UUID) -> StreamingHttpResponse:
    """The file's rows in order, each with its short link or its error."""
    job = _import(request, pk)
    return csv_download(_result(job), f"kvitok-{job.batch}.csv")


def _result(job: LinkImport) -> Iterator[list[str | int]]:
    yield ["row", "url", "alias", "short_url", "error"]  # fixed titles that a program can rely on
    for row in job.rows.order_by("number").iterator():
        yield [row.number, row.url, row.alias, row.short_url, row.error]


def _import(request: CabinetRequest, pk: UUID) -> LinkImport:
    return get_object_or_404(request.company.link_imports, pk=pk)
