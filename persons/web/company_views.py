"""The cabinet's pages where an owner exports the company's data, and deletes the company."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import Count, Sum
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from accounts.audit import record
from accounts.jobs import delete_with_parts
from accounts.models import Company
from accounts.people import planned_deletion
from accounts.people.cabinet_access import (
    CabinetRequest,
    can_manage_members,
    member_required,
    nobody,
)
from accounts.security import reauthentication
from billing.models import Order, Wallet
from catalogue.languages import page_languages
from parsing.form_fields import LineField
from persons import company_export as exports
from persons.export_files import FILES
from persons.models import CompanyExport
from processes.server.client_ip import client_ip

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
        if _comparable_name(typed) != _comparable_name(self.company.one_line_name):
            raise ValidationError(_("This is not the name of the company."), code="other")
        return typed


def _comparable_name(name: str) -> str:
    return " ".join(name.split()).casefold()


@member_required(is_owner, is_owner)
def company_delete(request: CabinetRequest) -> HttpResponse:
    company = request.company
    if company.is_closing:
        return render(
            request, "cabinet/company_delete.html", {"days": planned_deletion.GRACE_PERIOD.days}
        )
    draft = reauthentication.draft(request)
    form = DeletionForm(request.POST or None, company=company, initial=draft)
    if request.method == "POST" and form.is_valid():
        reauthentication.require(request, form)
        planned_deletion.request(company=company, **request.actor)
        return redirect("company-delete")
    context = {"form": form, "days": planned_deletion.GRACE_PERIOD.days, **_money(company)}
    return render(request, "cabinet/company_delete.html", context)


@require_POST
@member_required(nobody, is_owner)
def company_keep(request: CabinetRequest) -> HttpResponse:
    if planned_deletion.call_off(company=request.company, **request.actor):
        messages.success(request, _("The company is kept: nothing is deleted."))
    else:
        messages.info(request, _("The company is not being deleted."))
    return redirect("company-delete")


def _money(company: Company) -> dict[str, Any]:
    """The tokens that the company would lose, and the number of its unpaid invoices."""
    wallet = Wallet.objects.filter(company=company).aggregate(
        free=Sum("available", default=0), held=Sum("held", default=0)
    )
    orders = (
        Order.objects.for_company(company).open().invoices().aggregate(open_invoices=Count("pk"))
    )
    return {"tokens": wallet["free"] + wallet["held"], **orders}


@member_required(is_owner, is_owner)
def company_export(request: CabinetRequest) -> HttpResponse:
    error = ""
    if request.method == "POST":
        reauthentication.require(request)
        try:
            exports.start(
                member=request.member, language=page_languages.active(), ip=client_ip(request.META)
            )
        except ValidationError as refusal:
            error = " ".join(refusal.messages)
        else:
            return redirect("company-export")
    rows = CompanyExport.objects.filter(company=request.company).order_by("-created_at", "-id")
    context = {
        "exports": rows[: CompanyExport.MAX_FINISHED + 1],
        "error": error,
        "days": CompanyExport.LIFETIME.days,
        "files": FILES,
    }
    return render(request, "cabinet/company_export.html", context)


@member_required(is_owner)
def company_export_status(request: CabinetRequest, pk: UUID) -> HttpResponse:
    """The fragment that the page polls until the archive is ready."""
    context = {"export": _export_of_company(request, pk), "files": FILES}
    return render(request, "cabinet/company_export_state.html", context)


@member_required(is_owner, is_recorded=True)
def company_export_zip(request: CabinetRequest, pk: UUID) -> StreamingHttpResponse:
    row = _export_of_company(request, pk)
    if row.state != CompanyExport.State.READY:
        raise Http404
    reauthentication.require(request)  # the session alone must not export everything
    record("company.export_downloaded", row, company=request.company, **request.actor)
    response = StreamingHttpResponse(exports.content(row), content_type="application/zip")
    name = f"kvitok-{request.company.pk}-{row.created_at:%Y-%m-%d-%H%M}.zip"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@require_POST
@member_required(nobody, is_owner)
def company_export_delete(request: CabinetRequest, pk: UUID) -> HttpResponse:
    delete_with_parts(CompanyExport.objects.filter(pk=_export_of_company(request, pk).pk))
    messages.success(request, _("Archive deleted."))
    return redirect("company-export")


def _export_of_company(request: CabinetRequest, pk: UUID) -> CompanyExport:
    return get_object_or_404(CompanyExport, company=request.company, pk=pk)
