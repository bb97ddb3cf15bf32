"""The cabinet's pages about what was sent: overview, history, one message."""

from collections.abc import Mapping
from datetime import timedelta

from django.conf import settings
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone

from accounts.paging import Page, page_of
from accounts.roles import CabinetRequest, member_required
from billing import ledger
from channels import history
from channels.forms import HistoryFilter
from channels.models import Message
from channels.timeline import timeline
from config.errors import DomainError
from config.ids import parse_id

QUICK, SLOW = 2, 15  # seconds between the looks a page takes at a message on its way


@member_required()
def overview(request: CabinetRequest) -> HttpResponse:
    company = request.company
    keys = company.api_keys.active().count()
    recent = history.recent(company, 5)
    context = {
        "balance": ledger.balance(company.pk) if request.member.can_see_money else None,
        "keys": keys,
        "recent": recent,
        "steps": {
            "key": keys > 0,
            "message": bool(recent),
            "code": bool(recent) and company.verifications.exclude(verified_at=None).exists(),
        },
        "base_url": settings.PUBLIC_URL,
    }
    return render(request, "cabinet/overview.html", context)


@member_required()
def message_list(request: CabinetRequest) -> HttpResponse:
    form = HistoryFilter(request.GET)
    rows = history.matching(request.company, form.chosen())
    context = {
        "form": form,
        "mode": form.mode_chosen,
        "is_filtered": bool(form.chosen().keys() - {"mode"}),
        "is_first": not request.GET.get("cursor"),
        "page": _page(rows, request.GET),
        "base_url": settings.PUBLIC_URL,
    }
    return render(request, "cabinet/message_list.html", context)


@member_required()
def message_detail(request: CabinetRequest, public_id: str) -> HttpResponse:
    context = _told(_message(request, public_id))
    return render(request, "cabinet/message_detail.html", context)


@member_required()
def message_status(request: CabinetRequest, public_id: str) -> HttpResponse:
    """The live part of the page alone: what it polls until the message is final."""
    context = _told(_message(request, public_id))
    return render(request, "cabinet/message_status.html", context)


def _page(rows: QuerySet[Message], query: Mapping[str, str]) -> Page:
    try:
        return page_of(rows, query)
    except DomainError:  # a cursor that is none of ours: the page from its beginning
        return page_of(rows, {})


def _message(request: CabinetRequest, public_id: str) -> Message:
    message_id = parse_id("msg", public_id)
    if message_id is None:
        raise Http404
    rows = history.with_charges(Message.objects.of(request.company).select_related("api_key"))
    return get_object_or_404(rows, pk=message_id)


def _told(message: Message) -> dict[str, object]:
    is_young = timezone.now() - message.created_at < timedelta(minutes=2)
    return {
        "message": message,
        "steps": timeline(message),
        "is_open": message.state in {Message.State.QUEUED, Message.State.SENT},
        "poll_seconds": QUICK if is_young else SLOW,
    }
