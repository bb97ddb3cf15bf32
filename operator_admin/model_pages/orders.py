"""Admin of orders, payments and refunds, with forms to confirm, cancel and settle them."""

from collections.abc import Iterator
from typing import Any, cast
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from accounts.form_pages import refusals_on
from billing.gateways import registry
from billing.models import Order, Payment, Refund
from billing.models.offer import CENT
from billing.models.order import IS_OPEN, NEEDS_REVIEW, OrderQuerySet
from billing.orders import orders, payments, refunds
from billing.wallet.amounts import money
from cabinet.forms import GroupedDecimalField
from catalogue.texts import StrOrPromise
from operator_admin.model_pages.bases import ActionAdmin, ReadOnlyInline, actor
from operator_admin.model_pages.change_list import (
    NEEDS_ATTENTION,
    UrgentFirstChangeList,
    choice_filter,
    in_lines,
    needs_review,
)
from parsing.form_fields import DayField, LineField


class ConfirmForm(forms.Form):
    amount = GroupedDecimalField(
        label=gettext_lazy("amount"),
        min_value=CENT,
        max_digits=14,
        decimal_places=2,
        help_text=gettext_lazy("As shown on the bank statement."),
    )
    paid_on = DayField(label=gettext_lazy("paid on"))
    reference = LineField(
        label=gettext_lazy("bank reference"),
        max_length=60,
        help_text=gettext_lazy("The number of the payment order in the bank's statement."),
    )

    def clean_paid_on(self) -> Any:
        day = self.cleaned_data["paid_on"]
        if day > timezone.localdate():
            raise ValidationError(_("That day is in the future."))
        return day


def _payment_message(payment: Payment | None) -> tuple[int, str]:
    """Level and text of the message about a recorded payment."""
    if payment is None:
        text = _("This payment is already recorded, or its transfer waits for review.")
        return messages.SUCCESS, text
    if payment.problem:
        text = _("The payment is recorded and needs attention (%(problem)s).")
        return messages.WARNING, text % {"problem": payment.get_problem_display()}
    return messages.SUCCESS, _("The payment is confirmed.")


CREDIT = "credit"
RETURN = "return"
CLOSE = "close"
TITLES: dict[str, StrOrPromise] = {
    CREDIT: gettext_lazy("Credit the payment"),
    RETURN: gettext_lazy("Return to the payer"),
    CLOSE: gettext_lazy("Close with a note"),
}
RESOLUTIONS = {RETURN: Payment.Resolution.RETURNED, CLOSE: Payment.Resolution.CLOSED}


class NoteForm(forms.Form):
    note = LineField(
        label=gettext_lazy("Note"),
        max_length=200,
        help_text=gettext_lazy("The company sees it on the page of its top-up."),
    )

    def __init__(self, *args: Any, is_required: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["note"].required = is_required


def _settle(request: HttpRequest, payment: Payment, action: str, note: str) -> bool:
    if action == CREDIT:
        return payments.credit_received(payment=payment, **actor(request))
    resolution = RESOLUTIONS[action]
    return payments.close_problem(
        payment=payment, **actor(request), resolution=resolution, note=note
    )


class GatewayFilter(admin.AllValuesFieldListFilter):
    """Filters by the titles that companies see."""

    def choices(self, changelist: Any) -> Iterator[Any]:
        for choice in super().choices(changelist):
            yield choice | {"display": registry.title(str(choice["display"]))}


class ShowsGatewayTitle:
    """Shows the gateway's title instead of its name."""

    @admin.display(description=gettext_lazy("payment method"), ordering="gateway")
    def gateway_title(self, row: Order | Payment | Refund) -> str:
        return registry.title(row.gateway)


@admin.register(Refund)
class RefundAdmin(ShowsGatewayTitle, ActionAdmin):
    """Refunds. Tokens spent before the refund are settled by hand: *Change a balance*."""

    list_display = (
        *("created_at", "company", "gateway_title", "refund_id", "amount", "currency", "tokens"),
        *("taken", "problem", "returned_at", "settled_at"),
    )
    list_filter = (
        choice_filter(
            gettext_lazy("needs review"),
            "review",
            {"yes": (gettext_lazy("tokens were spent, or the payment is not known"), needs_review)},
        ),
        ("gateway", GatewayFilter),
    )
    exclude = ("gateway",)
    readonly_fields = ("gateway_title",)
    list_select_related = ("payment__order__company",)
    pages = (("<int:pk>/settle/", "billing_refund_settle", "settle"),)
    search_fields = ("=refund_id", "=payment_reference")
    ordering = ("-pk",)
    change_form_template = "admin/billing/refund/change_form.html"

    def settle(self, request: HttpRequest, pk: int) -> HttpResponse:
        self.require_handling(request)
        refund = get_object_or_404(Refund.objects.select_related("payment__order__company"), pk=pk)
        form = NoteForm(request.POST or None, is_required=True)
        if request.method == "POST" and form.is_valid():
            if refunds.close(refund=refund, note=form.cleaned_data["note"], **actor(request)):
                messages.success(request, _("The refund is settled."))
            return redirect("admin:billing_refund_change", pk)
        return self.page(request, "act", TITLES[CLOSE], {"form": form}, refund)

    @admin.display(description=gettext_lazy("company"))
    def company(self, refund: Refund) -> str:
        order = refund.payment.order if refund.payment else None
        return str(order.company) if order else "—"


class PaymentsOfOrder(ShowsGatewayTitle, ReadOnlyInline):
    model = Payment
    fields = (
        *("created_at", "gateway_title", "payment_id", "amount", "currency"),
        *("is_credited", "problem", "reference", "paid_on", "confirmed_by", "settled_at"),
    )
    readonly_fields = ("gateway_title",)


@admin.register(Order)
class OrderAdmin(ShowsGatewayTitle, ActionAdmin):
    """Unpaid invoices come first: operators compare them with the bank's statement."""

    changelist = UrgentFirstChangeList
    urgent = f"{IS_OPEN} AND billing_order.invoice_number IS NOT NULL"
    ordering = ("-pk",)
    change_form_template = "admin/billing/order/change_form.html"
    list_display = (
        *("__str__", "company", "tokens", "order_amount", "gateway_title", "state", "created_at"),
    )
    list_filter = ("state", ("gateway", GatewayFilter))
    list_select_related = ("company",)
    search_fields = ("=company__id", "company__name__istartswith", "=payment_id")
    date_hierarchy = "created_at"
    inlines = (PaymentsOfOrder,)
    exclude = ("gateway", "parties")
    readonly_fields = ("gateway_title", "parties_in_lines")
    pages = (
        ("<uuid:pk>/confirm/", "billing_order_confirm", "confirm"),
        ("<uuid:pk>/cancel/", "billing_order_cancel", "cancel"),
    )

    @admin.display(description=gettext_lazy("parties"))
    def parties_in_lines(self, order: Order) -> str:
        return in_lines(order.parties)

    def find(self, rows: QuerySet[Order], text: str) -> QuerySet[Order] | None:
        return cast(OrderQuerySet, rows).named(text)  # otherwise Django's search, by company

    def is_found_by_index(self, text: str) -> bool:
        return Order.objects.named(text) is not None

    @admin.display(description=gettext_lazy("amount"), ordering="amount")
    def order_amount(self, order: Order) -> str:
        return money(order.amount, order.currency)

    def confirm(self, request: HttpRequest, pk: UUID) -> HttpResponse:
        order = self._order(request, pk)
        # Not prefilled, so that the operator compares the values with the statement.
        form = ConfirmForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            with refusals_on(form, "reference"):
                payment = payments.confirm_bank_transfer(
                    order=order, **actor(request), **form.cleaned_data
                )
                messages.add_message(request, *_payment_message(payment))
                return redirect("admin:billing_order_change", pk)
        context = {"form": form, "order": order}
        return self.page(request, "act", _("Confirm the payment"), context, order)

    def cancel(self, request: HttpRequest, pk: UUID) -> HttpResponse:
        order = self._order(request, pk)
        if request.method == "POST":
            is_cancelled = orders.cancel(order=order, **actor(request))
            text = _("The top-up is cancelled.") if is_cancelled else _("It has already ended.")
            messages.success(request, text)
            return redirect("admin:billing_order_change", pk)
        context = {"form": None, "order": order}
        return self.page(request, "act", _("Cancel the top-up"), context, order)

    def _order(self, request: HttpRequest, pk: UUID) -> Order:
        self.require_handling(request)
        return get_object_or_404(Order.objects.select_related("company"), pk=pk)


@admin.register(Payment)
class PaymentAdmin(ShowsGatewayTitle, ActionAdmin):
    """Payments; those that need review come first."""

    changelist = UrgentFirstChangeList
    urgent = NEEDS_REVIEW
    ordering = ("-pk",)
    list_display = (
        *("created_at", "company", "order", "paid_amount", "gateway_title"),
        *("is_credited", "problem", "settled_at"),
    )
    list_filter = (NEEDS_ATTENTION, "problem", ("gateway", GatewayFilter))
    exclude = ("gateway",)
    readonly_fields = ("gateway_title",)
    list_select_related = ("order__company",)
    search_fields = ("=payment_id", "=reference", "order__company__name__istartswith")
    date_hierarchy = "created_at"
    actions = ("accept", "settle")
    pages = (("<int:pk>/<slug:action>/", "billing_payment_settle", "settle_one"),)
    change_form_template = "admin/billing/payment/change_form.html"

    def settle_one(self, request: HttpRequest, pk: int, action: str) -> HttpResponse:
        self.require_handling(request)
        if action not in TITLES:
            raise Http404
        payment = get_object_or_404(Payment.objects.select_related("order__company"), pk=pk)
        form = None
        if action != CREDIT:
            form = NoteForm(request.POST or None, is_required=action == CLOSE)
        if request.method == "POST" and (form is None or form.is_valid()):
            is_done = _settle(request, payment, action, form.cleaned_data["note"] if form else "")
            text = (
                _("The payment is settled.") if is_done else _("This payment is settled already.")
            )
            self.message_user(request, text, _level(is_done))
            return redirect("admin:billing_payment_change", pk)
        context = {"action": action, "payment": payment, "form": form}
        return self.page(request, "payment/settle", TITLES[action], context, payment)

    @admin.display(description=gettext_lazy("company"))
    def company(self, payment: Payment) -> str:
        return str(payment.order.company) if payment.order else "—"

    @admin.display(description=gettext_lazy("amount"), ordering="amount")
    def paid_amount(self, payment: Payment) -> str:
        return money(payment.amount, payment.currency)

    @admin.action(
        description=gettext_lazy("Credit the order with this payment anyway"),
        permissions=["handle"],
    )
    def accept(self, request: HttpRequest, rows: QuerySet[Payment]) -> None:
        count = sum(payments.credit_in_full(payment=payment, **actor(request)) for payment in rows)
        text = ngettext("%(n)d order is credited.", "%(n)d orders are credited.", count)
        self.message_user(request, text % {"n": count}, _level(count))

    @admin.action(
        description=gettext_lazy("Mark as handled: the money was returned, for example"),
        permissions=["handle"],
    )
    def settle(self, request: HttpRequest, rows: QuerySet[Payment]) -> None:
        count = sum(payments.close_problem(payment=payment, **actor(request)) for payment in rows)
        text = ngettext("%(n)d payment is settled.", "%(n)d payments are settled.", count)
        self.message_user(request, text % {"n": count}, _level(count))


def _level(count: int) -> int:
    return messages.SUCCESS if count else messages.WARNING
