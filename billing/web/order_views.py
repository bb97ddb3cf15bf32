"""The cabinet's pages about top-ups, and the public invoice for the payer."""

from uuid import UUID

import segno
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import translation
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET

from accounts.form_pages import PageLink, confirm_page
from accounts.people.cabinet_access import (
    CabinetRequest,
    can_manage_money,
    can_see_money,
    member_required,
)
from api.pagination import page_or_first
from billing.models import Document, MethodSaving, Order, Refund
from billing.orders import invoice_pdf as pdf
from billing.orders import invoices, orders
from billing.signed_links import INVOICES, LIFETIME, opened_by
from billing.wallet.amounts import money
from billing.web import payment_problems
from billing.web.document_views import inline_pdf
from cabinet.forms import grouped
from catalogue.ids import parse_id

POLL_SECONDS = 5


@member_required(can_see_money)
def order_list(request: CabinetRequest) -> HttpResponse:
    rows = Order.objects.for_company(request.company).with_payments_in_review()
    page = page_or_first(rows, request.GET)
    return render(request, "billing/order_list.html", {"page": page})


@member_required(can_see_money)
def order_detail(request: CabinetRequest, public_id: str) -> HttpResponse:
    return render(request, "billing/order_detail.html", _order_context(_order(request, public_id)))


@member_required(can_see_money)
def order_status(request: CabinetRequest, public_id: str) -> HttpResponse:
    """The fragment polled by the page until the order ends."""
    return render(request, "billing/order_status.html", _order_context(_order(request, public_id)))


@member_required(can_manage_money, can_manage_money)
def order_cancel(request: CabinetRequest, public_id: str) -> HttpResponse:
    order = _order(request, public_id)
    if request.method == "POST":
        if orders.cancel(order=order, **request.actor):
            messages.success(request, _("The top-up is cancelled."))
        return redirect("balance-order", order.public_id)
    is_open = order.is_open
    return confirm_page(
        request,
        _("Cancel the top-up"),
        _(
            "Do not cancel an order you have already paid: bank transfers take a day or two. If "
            "the money still arrives, it will be credited."
        )
        if is_open
        else _("It has already ended."),
        verb=_("Cancel the top-up") if is_open else "",
        back=PageLink(reverse("balance-order", args=[order.public_id]), _("Top-up")),
        subject=_summary(order),
        cancel=_("Keep it") if is_open else _("Go to the top-up"),
    )


def _summary(order: Order) -> SafeString:
    tokens = ngettext("%(tokens)s token", "%(tokens)s tokens", order.tokens)
    tokens = format_html("<strong>{}</strong>", tokens % {"tokens": grouped(order.tokens)})
    parts = [tokens, money(order.amount, order.currency)]
    if order.number:
        parts.append(_("Invoice %(number)s") % {"number": order.number})
    return format_html_join(" · ", "{}", ((part,) for part in parts))


@require_GET
@member_required(can_see_money)
def invoice_pdf(request: CabinetRequest, public_id: str) -> HttpResponse:
    return _pdf(_order(request, public_id))


@opened_by(INVOICES)
def invoice(request: HttpRequest, pk: UUID, token: str) -> HttpResponse:
    order = get_object_or_404(Order.objects.invoices(), pk=pk)
    document = invoices.document(order)
    code = segno.make(document.code, error="m", encoding="utf-8") if document.code else None
    context = {
        "document": document,
        "order": order,
        "token": token,
        "code": code.svg_data_uri(border=2, dark="#000", light="#fff") if code else "",
    }
    with translation.override(order.language):
        context["problems"] = payment_problems.of_order(order)
        return render(request, "billing/invoice.html", context)


@opened_by(INVOICES)
def invoice_file(request: HttpRequest, pk: UUID, token: str) -> HttpResponse:
    return _pdf(get_object_or_404(Order.objects.invoices(), pk=pk))


def _pdf(order: Order) -> HttpResponse:
    if not order.number:
        raise Http404
    return inline_pdf(pdf.draw(invoices.document(order)), f"kvitok-{order.number}.pdf")


def _order(request: CabinetRequest, public_id: str) -> Order:
    rows = Order.objects.for_company(request.company).select_related("created_by", "api_key")
    return get_object_or_404(rows.with_payments_in_review(), pk=parse_id("top", public_id))


def _order_context(order: Order) -> dict[str, object]:
    problems = payment_problems.of_order(order)
    return {
        "order": order,
        "problems": problems,
        "is_waiting": any(problem.is_waiting for problem in problems),
        "support": settings.SUPPORT_EMAIL,
        "saves_card": MethodSaving.objects.filter(order=order).exists(),
        "advance": Document.objects.filter(order=order, kind=Document.Kind.ADVANCE).first(),
        "document": invoices.document(order) if order.number else None,
        "link_days": LIFETIME.days,
        "refunds": Refund.objects.filter(payment__order=order).order_by("pk"),
        "poll_seconds": POLL_SECONDS,
    }
