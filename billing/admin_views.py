"""The operator's forms: confirm a bank transfer, cancel an order, give or take tokens."""

from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from django import forms
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import DataError, IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.addresses import client_ip
from accounts.admin import operator
from accounts.models import Company
from accounts.services import record
from billing import ledger, orders, payments
from billing.models import Order, Payment, Transfer

if TYPE_CHECKING:
    Admin = ModelAdmin[Any]
else:  # generic in the stubs alone
    Admin = ModelAdmin


class ConfirmForm(forms.Form):
    amount = forms.DecimalField(
        label=gettext_lazy("amount"),
        max_digits=14,
        decimal_places=2,
        localize=True,
        help_text=gettext_lazy("As the bank's statement has it."),
    )
    paid_on = forms.DateField(
        label=gettext_lazy("paid on"),
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    reference = forms.CharField(
        label=gettext_lazy("bank reference"),
        max_length=60,
        help_text=gettext_lazy("The number of the payment order in the bank's statement."),
    )

    def clean_paid_on(self) -> Any:
        day = self.cleaned_data["paid_on"]
        if day > timezone.localdate():
            raise ValidationError(_("This day has not come yet."))
        return day


class AdjustForm(forms.Form):
    company = forms.ModelChoiceField(
        Company.objects.all(),
        label=gettext_lazy("company"),
        widget=forms.NumberInput,
        help_text=gettext_lazy("its number"),
    )
    tokens = forms.IntegerField(
        label=gettext_lazy("tokens"),
        help_text=gettext_lazy("A negative number takes available tokens back."),
    )
    reason = forms.CharField(label=gettext_lazy("reason"), max_length=200)
    once = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)  # a form moves tokens once

    def clean_tokens(self) -> int:
        tokens: int = self.cleaned_data["tokens"]
        if not tokens:
            raise ValidationError(_("Give a number other than 0."))
        return tokens


def confirm(request: HttpRequest, admin: Admin, pk: UUID) -> HttpResponse:
    order = _order(request, pk)
    form = ConfirmForm(request.POST or None)  # empty: filled in beforehand it would check nothing
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
            messages.add_message(request, *_of(payment))
            return redirect("admin:billing_order_change", pk)
    return _shown(request, admin, _("Confirm the payment"), form, order)


def _of(payment: Payment | None) -> tuple[int, str]:
    """What became of a transfer."""
    if payment is None:
        return messages.SUCCESS, _("This payment is recorded already.")
    if payment.problem:
        text = _("The payment is recorded, look at it (%(problem)s).")
        return messages.WARNING, text % {"problem": payment.get_problem_display()}
    return messages.SUCCESS, _("The payment is confirmed.")


def cancel(request: HttpRequest, admin: Admin, pk: UUID) -> HttpResponse:
    order = _order(request, pk)
    if request.method == "POST":
        done = orders.cancel(order=order, user=operator(request), ip=client_ip(request.META))
        text = _("The top-up is canceled.") if done else _("It has ended already.")
        messages.success(request, text)
        return redirect("admin:billing_order_change", pk)
    return _shown(request, admin, _("Cancel the top-up"), None, order)


def adjust(request: HttpRequest, admin: Admin) -> HttpResponse:
    if not request.user.has_perm("billing.change_wallet"):
        raise PermissionDenied
    form = AdjustForm(request.POST or None, initial={"company": request.GET.get("company")})
    if request.method == "POST" and form.is_valid() and _adjusted(request, form):
        return redirect("admin:billing_wallet_changelist")
    return _shown(request, admin, _("Give or take tokens"), form, None)


def _adjusted(request: HttpRequest, form: AdjustForm) -> bool:
    """Whether the tokens are moved, now or by an earlier press; else the form says why not."""
    key = f"adjust:{form.cleaned_data.pop('once').hex}"
    try:
        _move(request, key=key, **form.cleaned_data)
    except IntegrityError:
        if Transfer.objects.filter(key=key).exists():
            messages.warning(request, _("This was done already: nothing is moved again."))
            return True
        form.add_error("tokens", _("The company has fewer available tokens than that."))
    except (DataError, OverflowError):
        form.add_error("tokens", _("That is too many."))
    else:
        messages.success(request, _("The balance is changed."))
        return True
    return False


@transaction.atomic
def _move(request: HttpRequest, *, key: str, company: Company, tokens: int, reason: str) -> None:
    user = operator(request)
    subject = f"{tokens:+d}: {reason}"
    record("wallet.adjusted", subject, company=company, user=user, ip=client_ip(request.META))
    if tokens > 0:
        ledger.grant(company=company, amount=tokens, reason=reason, user=user, key=key)
    else:
        ledger.withdraw(company=company, amount=-tokens, reason=reason, user=user, key=key)


def _order(request: HttpRequest, pk: UUID) -> Order:
    if not request.user.has_perm("billing.change_order"):
        raise PermissionDenied
    return get_object_or_404(Order.objects.select_related("company"), pk=pk)


def _shown(
    request: HttpRequest, admin: Admin, title: str, form: forms.Form | None, order: Order | None
) -> HttpResponse:
    context = admin.admin_site.each_context(request) | {
        "title": title,
        "form": form,
        "order": order,
        "opts": admin.opts,
    }
    return render(request, "admin/billing/act.html", context)
