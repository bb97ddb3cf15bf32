"""The cabinet's pages of documents: closing documents of months, and statements of any period."""

from collections.abc import Callable
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from accounts.api.pagination import forgiving_page_of
from accounts.audit.events import record
from accounts.cabinet.spreadsheets import csv_download
from accounts.client_ip import client_ip
from accounts.models import Company
from accounts.people.roles import CabinetRequest, can_manage_money, can_see_money, member_required
from billing.documents import (
    document_links,
    document_pdf,
    issuing,
    period_statement,
    reconciliation_act,
    statement_pdf,
    upd_xml,
)
from billing.models import ClosedMonth, Document, Seller
from billing.orders import billing_profiles
from billing.seals import statement_check
from billing.signed_links import DOCUMENTS
from billing.wallet import archived
from billing.web.documents import verdict_texts
from billing.web.documents.forms import PeriodForm, StatementCheckForm
from billing.web.opened_by_link import opened_by
from config.ids import parse_id
from config.storage.months.calendar import last_day, previous_month

SHOWN_ADVANCES = 20
FILES = {"pdf", "xml"}
PAGE = "12"  # months


@require_GET
@member_required(can_see_money)
def document_list(request: CabinetRequest) -> HttpResponse:
    return _page(request, _period_form(request))


def _page(request: CabinetRequest, form: PeriodForm) -> HttpResponse:
    company = request.company
    months = ClosedMonth.objects.filter(company=company)
    page = forgiving_page_of(months, {"limit": PAGE, "cursor": request.GET.get("cursor", "")})
    documents = Document.objects.of(company).filter(kind=Document.Kind.CLOSING)
    shown = documents.filter(month__in=[closed.month for closed in page.rows]).order_by("serial")
    advances = Document.objects.of(company).filter(kind=Document.Kind.ADVANCE)
    seller = Seller.objects.first()
    context = {
        "form": form,
        "page": page,
        "is_first": not request.GET.get("cursor"),
        "months": [
            (closed, [_row(one) for one in shown if one.month == closed.month])
            for closed in page.rows
        ],
        "advances": [_row(one) for one in advances.order_by("-created_at", "-pk")[:SHOWN_ADVANCES]],
        "is_issued": bool(seller and seller.documents_since),
        "is_missing": bool(issuing.missing(company)),
        "due": months.filter(is_due=True).count(),
    }
    return render(request, "billing/document_list.html", context)


def _row(document: Document) -> tuple[Document, bool]:
    return document, upd_xml.is_possible(document)


def _period_form(
    request: CabinetRequest, earliest: Callable[[Company], object] = period_statement.first_day
) -> PeriodForm:
    """Of the last whole month, until days are chosen."""
    month = previous_month(timezone.localdate())
    initial = {"date_from": month, "date_to": last_day(month)}
    first = earliest(request.company)
    asked = request.GET if "date_from" in request.GET or "date_to" in request.GET else None
    return PeriodForm(asked, initial=initial, earliest=first)  # type: ignore[arg-type]


@require_GET
@member_required(can_see_money)
def document_file(request: CabinetRequest, public_id: str, kind: str) -> HttpResponse:
    return _file(_document(request, public_id), kind)


@opened_by(DOCUMENTS)
def public_file(request: HttpRequest, pk: UUID, token: str, kind: str) -> HttpResponse:
    return _file(get_object_or_404(Document, pk=pk), kind)


def _file(document: Document, kind: str) -> HttpResponse:
    if kind not in FILES or (kind == "xml" and not upd_xml.is_possible(document)):
        raise Http404
    if kind == "xml":
        content, content_type = upd_xml.render(document), "application/xml"
        name = f"{upd_xml.file_id(document)}.xml"  # the format wants it so
    else:
        content, content_type = document_pdf.draw(document), "application/pdf"
        name = f"kvitok-{document.kind}-{document.number}.pdf"
    response = HttpResponse(content, content_type=content_type)
    way = "attachment" if kind == "xml" else "inline"
    response["Content-Disposition"] = f'{way}; filename="{name}"'
    return response


@require_POST
@member_required(can_see_money, can_manage_money)
def document_send(request: CabinetRequest, public_id: str) -> HttpResponse:
    document = _document(request, public_id)
    document_links.send(request.company, [document], again=True)
    record(
        "document.sent",
        document.number,
        company=request.company,
        user=request.user,
        ip=client_ip(request.META),
    )
    messages.success(request, _("The document is on its way by e-mail."))
    return redirect("document-list")


def _document(request: CabinetRequest, public_id: str) -> Document:
    pk: UUID | None = parse_id("doc", public_id)
    if pk is None:
        raise Http404
    return get_object_or_404(Document.objects.of(request.company), pk=pk)


@require_GET
@member_required(can_see_money)
def period_pdf(request: CabinetRequest) -> HttpResponse:
    form = _period_form(request)
    if not form.is_valid():
        return _page(request, form)
    statement = _statement(request, form)
    content = statement_pdf.draw_statement(statement, _language(request))
    return _pdf(content, "statement", form)


@require_GET
@member_required(can_see_money)
def period_csv(request: CabinetRequest) -> HttpResponseBase:
    form = _period_form(request)
    if not form.is_valid():
        return _page(request, form)
    rows = list(period_statement.csv_rows(_statement(request, form)))
    return csv_download(rows, f"{_name('turnover', form)}.csv")


@require_GET
@member_required(can_see_money)
def reconciliation_pdf(request: CabinetRequest) -> HttpResponse:
    form = _period_form(request, reconciliation_act.first_day)
    if not form.is_valid():
        return _page(request, form)
    days = form.cleaned_data
    act = reconciliation_act.make(request.company, days["date_from"], days["date_to"])
    return _pdf(statement_pdf.draw_act(act, _language(request)), "reconciliation", form)


def _language(request: CabinetRequest) -> str:
    """The company's choice of its documents, else the reader's."""
    profile = billing_profiles.for_company(request.company)
    return profile.documents_language or get_language() or "ru"


def _statement(request: CabinetRequest, form: PeriodForm) -> period_statement.PeriodStatement:
    days = form.cleaned_data
    return period_statement.make(request.company, days["date_from"], days["date_to"])


def _pdf(content: bytes, name: str, form: PeriodForm) -> HttpResponse:
    response = HttpResponse(content, content_type="application/pdf")
    response["Content-Disposition"] = f'inline; filename="{_name(name, form)}.pdf"'
    return response


def _name(name: str, form: PeriodForm) -> str:
    days = form.cleaned_data
    return f"kvitok-{name}-{days['date_from']:%Y-%m-%d}-{days['date_to']:%Y-%m-%d}"


@member_required(can_see_money, can_see_money)
def statement_checked(request: CabinetRequest) -> HttpResponse:
    """Explains the proof, and checks an uploaded statement."""
    form = StatementCheckForm(request.POST or None, request.FILES or None)
    verdict = None
    if request.method == "POST" and form.is_valid():
        opening = archived.opening(request.company.pk)
        begins_after = opening.at if opening else None
        verdict = statement_check.check(
            request.company, form.cleaned_data["file"], begins_after=begins_after
        )
    problem = verdict_texts.sentence(verdict) if verdict and verdict.problem else None
    context = {"form": form, "verdict": verdict, "sentence": problem}
    return render(request, "billing/statement_check.html", context)
