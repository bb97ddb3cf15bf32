"""The operator's forms to confirm a bank transfer and to cancel an order."""

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.cabinet.number_fields import GroupedDecimalField
from accounts.client_ip import client_ip
from accounts.model_admin.admin import operator
from billing.models import Order, Payment
from billing.orders import orders, payments
from config.input.form_fields import DayField, LineField

if TYPE_CHECKING:
    Admin = ModelAdmin[Any]
else:  # generic in the stubs alone
    Admin = ModelAdmin


class ConfirmForm(forms.Form):
    amount = GroupedDecimalField(
        label=gettext_lazy("amount"),
        max_digits=14,
        decimal_places=2,
        help_text=gettext_lazy("As shown on the bank statement."),
    )
    paid_on = DayField(
        label=gettext_lazy("paid on"),
    )
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


def confirm(request: HttpRequest, admin: Admin, pk: UUID) -> HttpResponse:
    order = _order(request, pk)
    form = ConfirmForm(request.POST or None)  # not prefilled, or the operator would check nothing
    if request.method == "POST" and form.is_valid():
        try:
            payment = payments.confirm(
                order=order,
                user=operator(request),
                ip=client_ip(request.META),
                **form.cleaned_data,
            )
        except ValidationError as error:
            form.add_error("reference", error)
        else:
            messages.add_message(request, *_payment_message(payment))
            return redirect("admin:billing_order_change", pk)
    return _render(request, admin, _("Confirm the payment"), form, order)


def _payment_message(payment: Payment | None) -> tuple[int, str]:
    """Level and text of the message about a recorded payment."""
    if payment is None:
        return messages.SUCCESS, _("This payment is already recorded.")
    if payment.problem:
        text = _("The payment is recorded and needs attention (%(problem)s).")
        return messages.WARNING, text % {"problem": payment.get_problem_display()}
    return messages.SUCCESS, _("The payment is confirmed.")


def cancel(request: HttpRequest, admin: Admin, pk: UUID) -> HttpResponse:
    order = _order(request, pk)
    if request.method == "POST":
        is_canceled = orders.cancel(order=order, user=operator(request), ip=client_ip(request.META))
        text = _("The top-up is canceled.") if is_canceled else _("It has already ended.")
        messages.success(request, text)
        return redirect("admin:billing_order_change", pk)
    return _render(request, admin, _("Cancel the top-up"), None, order)


def _order(request: HttpRequest, pk: UUID) -> Order:
    if not request.user.has_perm("billing.change_order"):
        raise PermissionDenied
    return get_object_or_404(Order.objects.select_related("company"), pk=pk)


def _render(
    request: HttpRequest, admin: Admin, title: str, form: forms.Form | None, order: Order
) -> HttpResponse:
    context = admin.admin_site.each_context(request) | {
        "title": title,
        "form": form,
        "order": order,
        "opts": admin.opts,
    }
    return render(request, "admin/billing/act.html", context)
