"""The operator's pages about a payment that does not fit its order: credit, return, close."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.client_ip import client_ip
from accounts.model_admin.admin import operator
from billing.models import Payment, Refund
from billing.orders import payments, refunds
from config.input.form_fields import LineField
from config.texts import StrOrPromise

if TYPE_CHECKING:
    Admin = ModelAdmin[Any]
else:  # generic in the stubs alone
    Admin = ModelAdmin

CREDIT, RETURN, CLOSE = "credit", "return", "close"
TITLES: dict[str, StrOrPromise] = {
    CREDIT: gettext_lazy("Credit what came"),
    RETURN: gettext_lazy("Return to the payer"),
    CLOSE: gettext_lazy("Close with a note"),
}
RESOLUTIONS = {RETURN: Payment.Resolution.RETURNED, CLOSE: Payment.Resolution.CLOSED}


class NoteForm(forms.Form):
    note = LineField(
        label=gettext_lazy("Note"),
        max_length=200,
        help_text=gettext_lazy("The company reads it on the page of its top-up."),
    )

    def __init__(self, *args: Any, is_required: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["note"].required = is_required


def settle(request: HttpRequest, admin: Admin, pk: int, action: str) -> HttpResponse:
    if not request.user.has_perm("billing.change_payment"):
        raise PermissionDenied
    if action not in TITLES:
        raise Http404
    payment = get_object_or_404(Payment.objects.select_related("order__company"), pk=pk)
    form = None
    if action != CREDIT:
        form = NoteForm(request.POST or None, is_required=action == CLOSE)
    if request.method == "POST" and (form is None or form.is_valid()):
        note = form.cleaned_data["note"] if form else ""
        is_done = _settle(request, payment, action, note)
        text = _("The payment is settled.") if is_done else _("This payment is settled already.")
        messages.add_message(request, messages.SUCCESS if is_done else messages.WARNING, text)
        return redirect("admin:billing_payment_change", pk)
    context = admin.admin_site.each_context(request) | {
        "title": TITLES[action],
        "action": action,
        "payment": payment,
        "form": form,
        "opts": admin.opts,
    }
    return render(request, "admin/billing/payment/settle.html", context)


def settle_refund(request: HttpRequest, admin: Admin, pk: int) -> HttpResponse:
    if not request.user.has_perm("billing.change_refund"):
        raise PermissionDenied
    refund = get_object_or_404(Refund.objects.select_related("payment__order__company"), pk=pk)
    form = NoteForm(request.POST or None, is_required=True)
    if request.method == "POST" and form.is_valid():
        user, ip, note = operator(request), client_ip(request.META), form.cleaned_data["note"]
        if refunds.settle(refund=refund, user=user, note=note, ip=ip):
            messages.success(request, _("The refund is settled."))
        return redirect("admin:billing_refund_change", pk)
    shared = admin.admin_site.each_context(request) | {"title": TITLES[CLOSE], "opts": admin.opts}
    return render(request, "admin/billing/act.html", shared | {"form": form})


def _settle(request: HttpRequest, payment: Payment, action: str, note: str) -> bool:
    user, ip = operator(request), client_ip(request.META)
    if action == CREDIT:
        return payments.credit_received(payment=payment, user=user, ip=ip)
    resolution = RESOLUTIONS[action]
    return payments.settle(payment=payment, user=user, ip=ip, resolution=resolution, note=note)
