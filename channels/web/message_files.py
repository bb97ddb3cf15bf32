"""The cabinet's long files of messages, made in the background.

Each file belongs to a member, with the phones whole or masked by the member's role.
"""

from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.jobs import delete_with_parts
from accounts.people.cabinet_access import CabinetRequest, anyone, member_required
from cabinet.spreadsheets import csv_response
from catalogue.languages import page_languages
from channels.history import export
from channels.models import MessageExport
from channels.web.forms import HistoryFilter, query_of
from processes.server.client_ip import client_ip


@member_required(anyone, anyone)
def message_files(request: CabinetRequest) -> HttpResponse:
    """Lists the member's files; `POST` requests a file with the filter in the address."""
    form = HistoryFilter(request.GET, member=request.member)
    error = ""
    if request.method == "POST" and not form.is_valid():
        error = _("The filter is not valid. Go back to the messages and correct it.")
    elif request.method == "POST":
        try:
            export.start(
                member=request.member,
                mode=form.mode_chosen,
                query=query_of(form),
                language=page_languages.active(),
                ip=client_ip(request.META),
            )
        except ValidationError as refusal:
            error = " ".join(refusal.messages)
        else:
            return redirect("message-files")
    rows = MessageExport.objects.filter(company=request.company, user=request.user)
    context = {
        "files": rows.order_by("-created_at", "-id")[: MessageExport.MAX_FINISHED],
        "query": request.GET.urlencode(),
        "error": error,
        "days": MessageExport.LIFETIME.days,
        "short": export.SHORT,
    }
    return render(request, "cabinet/message_files.html", context)


@member_required()
def message_file_status(request: CabinetRequest, pk: UUID) -> HttpResponse:
    """The fragment that the page polls until the file is ready."""
    return render(request, "cabinet/message_file.html", {"file": _export_of_member(request, pk)})


@member_required()
def message_file(request: CabinetRequest, pk: UUID) -> StreamingHttpResponse:
    row = _export_of_member(request, pk)
    if row.state != MessageExport.State.READY:
        raise Http404
    if not (row.masks_phones or request.member.can_see_phones):
        raise Http404  # the role was lowered since
    name = f"kvitok-{row.created_at:%Y-%m-%d-%H%M}.csv"
    return csv_response(export.content(row), name)


@require_POST
@member_required(anyone, anyone)
def message_file_delete(request: CabinetRequest, pk: UUID) -> HttpResponse:
    delete_with_parts(MessageExport.objects.filter(pk=_export_of_member(request, pk).pk))
    messages.success(request, _("File deleted."))
    return redirect("message-files")


def _export_of_member(request: CabinetRequest, pk: UUID) -> MessageExport:
    return get_object_or_404(MessageExport, company=request.company, user=request.user, pk=pk)
