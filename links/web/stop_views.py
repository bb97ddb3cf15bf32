"""Stopping a batch of links, or all of a company's, in the cabinet, and releasing them."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.client_ip import client_ip
from accounts.models import Mode
from accounts.people.roles import (
    CabinetRequest,
    can_change_settings,
    can_manage_members,
    member_required,
)
from config.errors import DomainError
from links.manage import batches, stopping
from links.manage.batches import BatchSummary
from links.web.forms import error_messages

# Who may let people in may also shut everything at once.
is_owner = can_manage_members


@member_required(can_change_settings, can_change_settings)
def batch_stop(request: CabinetRequest, public_id: str) -> HttpResponse:
    batch = _batch(request, public_id)
    if request.method == "POST":
        stopping.stop(**_asked(request, batch.id))
        messages.success(request, _("The batch is stopped: none of its links work now."))
        return redirect(batch.url)
    return render(request, "cabinet/link_batch_stop.html", {"batch": batch})


@require_POST
@member_required(can_change_settings, can_change_settings)
def batch_release(request: CabinetRequest, public_id: str) -> HttpResponse:
    batch = _batch(request, public_id)
    _release(request, batch.id)
    return redirect(batch.url)


@member_required(is_owner, is_owner)
def links_stop(request: CabinetRequest) -> HttpResponse:
    if request.method == "POST":
        stopping.stop(**_asked(request))
        messages.success(request, _("All links are stopped: none of them work now."))
        return redirect("link-list")
    return render(request, "cabinet/link_stop.html")


@require_POST
@member_required(is_owner, is_owner)
def links_release(request: CabinetRequest) -> HttpResponse:
    _release(request)
    return redirect("link-list")


def _release(request: CabinetRequest, batch_id: UUID | None = None) -> None:
    try:
        stopping.release(**_asked(request, batch_id))
    except DomainError as refused:
        messages.error(request, error_messages(refused)[0])
    else:
        messages.success(request, _("The links work again."))


def _asked(request: CabinetRequest, batch_id: UUID | None = None) -> dict[str, Any]:
    ip = client_ip(request.META)
    return {"company": request.company, "batch_id": batch_id, "user": request.user, "ip": ip}


def _batch(request: CabinetRequest, public_id: str) -> BatchSummary:
    for mode in Mode.values:
        if batch := batches.summary(request.company, mode, public_id):
            return batch
    raise Http404
