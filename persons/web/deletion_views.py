"""The cabinet's pages by which an owner deletes the company, or keeps it after all."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import Count, Sum
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from accounts.client_ip import client_ip
from accounts.models import Company
from accounts.people import closing
from accounts.people.roles import CabinetRequest, can_manage_members, member_required, nobody
from accounts.security import reauthentication
from billing.models import Order, Wallet
from config.input.form_fields import LineField

is_owner = can_manage_members


class DeletionForm(forms.Form):
    name = LineField(
        label=gettext_lazy("Name of the company"),
        max_length=120,
        help_text=gettext_lazy(
            "Type it as shown above, so that no other company is deleted by mistake."
        ),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def __init__(self, *args: Any, company: Company, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.company = company

    def clean_name(self) -> str:
        typed: str = self.cleaned_data["name"]
        if _plain(typed) != _plain(self.company.one_line_name):
            raise ValidationError(_("This is not the name of the company."), code="other")
        return typed


def _plain(name: str) -> str:
    return " ".join(name.split()).casefold()


@member_required(is_owner, is_owner)
def company_delete(request: CabinetRequest) -> HttpResponse:
    company = request.company
    if company.is_closing:
        return render(request, "cabinet/company_delete.html", {"days": closing.TIME_TO_THINK.days})
    draft = reauthentication.draft(request)
    form = DeletionForm(request.POST or None, company=company, initial=draft)
    if request.method == "POST" and form.is_valid():
        reauthentication.require(request, form)
        closing.ask(company=company, user=request.user, ip=client_ip(request.META))
        return redirect("company-delete")
    context = {"form": form, "days": closing.TIME_TO_THINK.days, **_money(company)}
    return render(request, "cabinet/company_delete.html", context)


@require_POST
@member_required(nobody, is_owner)
def company_keep(request: CabinetRequest) -> HttpResponse:
    if closing.keep(company=request.company, user=request.user, ip=client_ip(request.META)):
        messages.success(request, _("The company is kept: nothing is deleted."))
    else:
        messages.info(request, _("The company is not being deleted."))
    return redirect("company-delete")


def _money(company: Company) -> dict[str, Any]:
    """What would be lost, and what is still to be paid."""
    wallet = Wallet.objects.filter(company=company).aggregate(
        free=Sum("available", default=0), held=Sum("held", default=0)
    )
    orders = Order.objects.of(company).open().invoices().aggregate(open_invoices=Count("pk"))
    return {"tokens": wallet["free"] + wallet["held"], **orders}
