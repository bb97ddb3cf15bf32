"""The cabinet's pages by which an owner takes all that the company has."""

from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.audit.events import record
from accounts.client_ip import client_ip
from accounts.people.roles import CabinetRequest, can_manage_members, member_required, nobody
from accounts.security import reauthentication
from persons import company_export as exports
from persons.export_files import FILES
from persons.models import CompanyExport

is_owner = can_manage_members
SHOWN = 20


@member_required(is_owner, is_owner)
def company_export(request: CabinetRequest) -> HttpResponse:
    error = ""
    if request.method == "POST":
        reauthentication.require(request)
        try:
            exports.start(
                member=request.member,
                language=get_language() or "ru",
                ip=client_ip(request.META),
            )
        except ValidationError as refused:
            error = " ".join(refused.messages)
        else:
            return redirect("company-export")
    rows = CompanyExport.objects.filter(company=request.company).order_by("-created_at", "-id")
    context = {
        "exports": rows[:SHOWN],
        "error": error,
        "days": CompanyExport.KEPT.days,
        "files": FILES,
    }
    return render(request, "cabinet/company_export.html", context)


@member_required(is_owner)
def company_export_status(request: CabinetRequest, pk: UUID) -> HttpResponse:
    """The fragment that the page polls until the archive is ready."""
    context = {"export": _own(request, pk), "files": FILES}
    return render(request, "cabinet/company_export_state.html", context)


@member_required(is_owner)
def company_export_zip(request: CabinetRequest, pk: UUID) -> StreamingHttpResponse:
    one = _own(request, pk)
    if one.state != CompanyExport.State.READY:
        raise Http404
    reauthentication.require(request)  # all of it, to whoever holds the session
    record(
        "company.export_downloaded",
        one,
        company=request.company,
        user=request.user,
        ip=client_ip(request.META),
    )
    response = StreamingHttpResponse(exports.content(one), content_type="application/zip")
    name = f"kvitok-{request.company.pk}-{one.created_at:%Y-%m-%d-%H%M}.zip"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@require_POST
@member_required(nobody, is_owner)
def company_export_delete(request: CabinetRequest, pk: UUID) -> HttpResponse:
    _own(request, pk).delete()
    messages.success(request, _("Archive deleted."))
    return redirect("company-export")


def _own(request: CabinetRequest, pk: UUID) -> CompanyExport:
    return get_object_or_404(CompanyExport, company=request.company, pk=pk)
