"""The cabinet's pages of documents, statements of any period, and the seals that prove them."""

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET, require_POST

from accounts.form_pages import refusals_shown
from accounts.models import Company
from accounts.people.cabinet_access import (
    CabinetRequest,
    can_manage_money,
    can_see_money,
    member_required,
)
from api.pagination import page_or_first
from billing.documents import (
    document_pdf,
    issuing,
    period_statement,
    reconciliation_act,
    statement_pdf,
    upd_xml,
)
from billing.documents.period_statement import MAX_MONTHS
from billing.models import BillingProfile, ClosedMonth, Document, Seal, Seller
from billing.models.seal import SealQuerySet
from billing.seals import statement_check
from billing.seals.statement_check import MAX_BYTES
from billing.signed_links import DOCUMENTS, opened_by
from billing.wallet import archived
from billing.web.calls import SEAL
from cabinet.spreadsheets import csv_download
from catalogue.ids import parse_id
from catalogue.languages import page_languages
from parsing.form_fields import DayField
from storage.months.calendar import last_day, previous_month

YEAR = timedelta(days=31 * MAX_MONTHS)


class PeriodForm(forms.Form):
    """A period of whole days, including the last one; not before `earliest`."""

    date_from = DayField(label=_("From"))
    date_to = DayField(label=_("To"))

    def __init__(self, *args: Any, earliest: date | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.earliest = earliest

    def clean_date_from(self) -> date:
        first: date = self.cleaned_data["date_from"]
        if self.earliest and first < self.earliest:
            day = date_format(self.earliest, "j E Y")
            raise ValidationError(_("Not before %(day)s."), params={"day": day})
        if first.year < 2000:
            raise ValidationError(_("Not before %(day)s."), params={"day": "2000"})
        return first

    def clean_date_to(self) -> date:
        last: date = self.cleaned_data["date_to"]
        if last > timezone.localdate():
            raise ValidationError(_("Not after today."))
        return last

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        first, last = data.get("date_from"), data.get("date_to")
        if first and last and last < first:
            self.add_error("date_to", _("The end is before the beginning."))
        elif first and last and last - first > YEAR:
            self.add_error("date_to", _("At most three years at once."))
        return data


class StatementCheckForm(forms.Form):
    file = forms.FileField(
        label=_("Statement (CSV)"),
        widget=forms.ClearableFileInput(attrs={"accept": ".csv,text/csv"}),
    )

    def clean_file(self) -> bytes:
        file = self.cleaned_data["file"]
        if file.size > MAX_BYTES:
            raise ValidationError(
                _("The file is larger than 3 MB: check it with the program on your computer.")
            )
        content: bytes = file.read()
        return content


SHOWN_ADVANCES = 20
PAGE_SIZE = 12  # months


@require_GET
@member_required(can_see_money)
def document_list(request: CabinetRequest) -> HttpResponse:
    return _page(request, _period_form(request))


def _page(request: CabinetRequest, form: PeriodForm) -> HttpResponse:
    company = request.company
    months = ClosedMonth.objects.filter(company=company)
    page = page_or_first(months, {"limit": str(PAGE_SIZE), "cursor": request.GET.get("cursor", "")})
    documents = Document.objects.for_company(company).filter(kind=Document.Kind.CLOSING)
    listed = documents.filter(month__in=[closed.month for closed in page.rows]).order_by("serial")
    advances = Document.objects.for_company(company).filter(kind=Document.Kind.ADVANCE)
    seller = Seller.objects.first()
    context = {
        "form": form,
        "page": page,
        "months": [
            (closed, [_with_renderability(row) for row in listed if row.month == closed.month])
            for closed in page.rows
        ],
        "advances": [
            _with_renderability(row)
            for row in advances.order_by("-created_at", "-pk")[:SHOWN_ADVANCES]
        ],
        "is_issued": bool(seller and seller.documents_since),
        "is_missing": bool(issuing.missing_details(company)),
        "due": months.filter(is_due=True).count(),
    }
    return render(request, "billing/document_list.html", context)


def _with_renderability(document: Document) -> tuple[Document, bool]:
    return document, upd_xml.can_render(document)


def _period_form(
    request: CabinetRequest, earliest: Callable[[Company], object] = period_statement.first_day
) -> PeriodForm:
    """The form of the chosen days, at first with the last whole month."""
    month = previous_month(timezone.localdate())
    initial = {"date_from": month, "date_to": last_day(month)}
    first = earliest(request.company)
    data = request.GET if "date_from" in request.GET or "date_to" in request.GET else None
    return PeriodForm(data, initial=initial, earliest=first)  # type: ignore[arg-type]


@require_GET
@member_required(can_see_money)
def document_file(request: CabinetRequest, public_id: str, kind: str) -> HttpResponse:
    return _file(_document(request, public_id), kind)


@opened_by(DOCUMENTS)
def public_file(request: HttpRequest, pk: UUID, token: str, kind: str) -> HttpResponse:
    return _file(get_object_or_404(Document, pk=pk), kind)


def _file(document: Document, kind: str) -> HttpResponse:
    if kind == "pdf":
        name = f"kvitok-{document.kind}-{document.number}.pdf"
        return inline_pdf(document_pdf.draw(document), name)
    if kind != "xml" or not upd_xml.can_render(document):
        raise Http404
    name = f"{upd_xml.file_id(document)}.xml"  # required by the format
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(upd_xml.render(document), content_type="application/xml", headers=headers)


def inline_pdf(content: bytes, name: str) -> HttpResponse:
    headers = {"Content-Disposition": f'inline; filename="{name}"'}
    return HttpResponse(content, content_type="application/pdf", headers=headers)


@require_POST
@member_required(can_see_money, can_manage_money)
def document_send(request: CabinetRequest, public_id: str) -> HttpResponse:
    document = _document(request, public_id)
    with refusals_shown(request):
        issuing.send_again(document=document, **request.actor)
        messages.success(request, gettext("The document is on its way by e-mail."))
    return redirect("document-list")


def _document(request: CabinetRequest, public_id: str) -> Document:
    documents = Document.objects.for_company(request.company)
    return get_object_or_404(documents, pk=parse_id("doc", public_id))


@require_GET
@member_required(can_see_money)
def period_pdf(request: CabinetRequest) -> HttpResponse:
    form = _period_form(request)
    if not form.is_valid():
        return _page(request, form)
    statement = _statement(request, form)
    content = statement_pdf.draw_statement(statement, _language(request))
    return inline_pdf(content, f"{_file_name('statement', form)}.pdf")


@require_GET
@member_required(can_see_money)
def period_csv(request: CabinetRequest) -> HttpResponseBase:
    form = _period_form(request)
    if not form.is_valid():
        return _page(request, form)
    rows = list(period_statement.csv_rows(_statement(request, form)))
    return csv_download(rows, f"{_file_name('turnover', form)}.csv")


@require_GET
@member_required(can_see_money)
def reconciliation_pdf(request: CabinetRequest) -> HttpResponse:
    form = _period_form(request, reconciliation_act.first_day)
    if not form.is_valid():
        return _page(request, form)
    days = form.cleaned_data
    act = reconciliation_act.make(request.company, days["date_from"], days["date_to"])
    content = statement_pdf.draw_act(act, _language(request))
    return inline_pdf(content, f"{_file_name('reconciliation', form)}.pdf")


def _language(request: CabinetRequest) -> str:
    """The language of the company's documents, else the reader's."""
    profile = BillingProfile.for_company(request.company)
    return profile.documents_language or page_languages.active()


def _statement(request: CabinetRequest, form: PeriodForm) -> period_statement.PeriodStatement:
    days = form.cleaned_data
    return period_statement.make(request.company, days["date_from"], days["date_to"])


def _file_name(name: str, form: PeriodForm) -> str:
    days = form.cleaned_data
    return f"kvitok-{name}-{days['date_from']:%Y-%m-%d}-{days['date_to']:%Y-%m-%d}"


@member_required(can_see_money, can_see_money)
def statement_checked(request: CabinetRequest) -> HttpResponse:
    """Explains the proof, and checks an uploaded statement."""
    form = StatementCheckForm(request.POST or None, request.FILES or None)
    result = None
    if request.method == "POST" and form.is_valid():
        opening = archived.opening(request.company.pk)
        begins_after = opening.at if opening else None
        result = statement_check.check(
            request.company, form.cleaned_data["file"], begins_after=begins_after
        )
    problem = statement_check.sentence(result) if result and result.problem else None
    context = {"form": form, "result": result, "sentence": problem}
    return render(request, "billing/statement_check.html", context)


@require_GET
@member_required(can_see_money)
def seals(request: CabinetRequest) -> HttpResponse:
    page = page_or_first(_seals(request).last_of_months(), request.GET)
    context = {"page": page}
    return render(request, "billing/seals.html", context)


@require_GET
@member_required(can_see_money)
def heads(request: CabinetRequest) -> HttpResponse:
    """Downloads every day's head, like `GET /seals`: a few hundred a year."""
    rows = _seals(request).order_by("day")
    body = {"data": [SEAL.body_of(seal) for seal in rows.defer("parts")]}
    headers = {"Content-Disposition": 'attachment; filename="heads.json"'}
    return JsonResponse(body, json_dumps_params={"indent": 1}, headers=headers)


def _seals(request: CabinetRequest) -> SealQuerySet:
    return Seal.objects.filter(company=request.company)
