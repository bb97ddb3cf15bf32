"""The cabinet's message history, the page of one message, and test messages as on a phone."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone

from accounts.models import Mode, SavedFilter
from accounts.people.cabinet_access import CabinetRequest, can_read_technical_pages, member_required
from api.pagination import is_live
from billing.orders import prices
from billing.wallet import archived
from cabinet import saved_filters
from cabinet.request_views import is_logged
from catalogue.ids import parse_id
from channels.history import messages as history
from channels.history import phone_screens
from channels.history.timeline import timeline
from channels.models import Message
from channels.recipients import contacts
from channels.routing import scripted_numbers
from channels.vendor_accounts import registry
from channels.web import periods
from channels.web.forms import HistoryFilter, PhoneFilter

# Seconds between polls of an open message.
FAST_POLL = 2
SLOW_POLL = 15


@member_required()
def message_list(request: CabinetRequest) -> HttpResponse:
    if first := saved_filters.opened_with_default(request, SavedFilter.Page.MESSAGES):
        return first
    form = HistoryFilter(request.GET, member=request.member)
    presets = periods.of_list(form.filters())
    page = history.search(request.company, form.filters(), request.GET)
    context = {
        "form": form,
        "mode": form.mode_chosen,
        "is_filtered": bool(form.filters().keys() - {"mode"}),
        "is_by_id": "id" in form.filters(),
        "page": page,
        "kept_since": None if page.next_cursor else archived.first_kept_day(),
        "presets": presets,
        "is_preset": any(preset.is_chosen for preset in presets),
        "filters": saved_filters.chips(
            request.user, request.company, SavedFilter.Page.MESSAGES, request.GET
        ),
        "is_live": is_live(request),
    }
    return render(request, "cabinet/message_list.html", context)


@member_required()
def message_detail(request: CabinetRequest, public_id: str) -> HttpResponse:
    message_id = _message_id(public_id)
    message: Any = _messages(request).filter(pk=message_id).first()  # annotated with `charged`
    if message is not None:
        shows_money = message.charged and request.member.can_see_money
        context = message_context(request, message) | {
            "token_price": prices.last_paid_price(request.company.pk) if shows_money else None,
            "is_request_logged": can_read_technical_pages(request.member)
            and is_logged(request.company, message.request_id),
        }
        return render(request, "cabinet/message_detail.html", context)
    if since := archived.first_kept_day_after(message_id):
        return render(request, "cabinet/message_archived.html", {"kept_since": since}, status=404)
    raise Http404


@member_required()
def message_status(request: CabinetRequest, public_id: str) -> HttpResponse:
    """The fragment polled by the page until the message is final."""
    message = get_object_or_404(_messages(request), pk=_message_id(public_id))
    return render(request, "cabinet/message_status.html", message_context(request, message))


def _message_id(public_id: str) -> UUID:
    message_id = parse_id("msg", public_id)
    if message_id is None:
        raise Http404
    return message_id


def _messages(request: CabinetRequest) -> QuerySet[Message]:
    return history.with_charges(
        Message.objects.for_company(request.company).select_related("api_key")
    )


def message_context(request: CabinetRequest, message: Message) -> dict[str, object]:
    is_young = timezone.now() - message.created_at < timedelta(minutes=2)
    return {
        "message": message,
        "steps": timeline(message, with_webhooks=can_read_technical_pages(request.member)),
        "is_open": message.state in {Message.State.QUEUED, Message.State.SENT},
        "poll_seconds": FAST_POLL if is_young else SLOW_POLL,
        "is_sms_left": message.state in Message.FAILED_STATES
        and message.channel != "sms"
        and not message.phone.endswith("*"),
        "invitation": contacts.invitation_of(message.pk) if _is_unreachable(message) else None,
    }


def _is_unreachable(message: Message) -> bool:
    return message.error == "recipient_unreachable" and registry.needs_contact(message.channel)


@member_required(can_read_technical_pages)
def test_phone(request: CabinetRequest) -> HttpResponse:
    form = PhoneFilter(request.GET, member=request.member)
    filters = form.filters() | {"mode": Mode.TEST}
    page = history.search(request.company, filters, request.GET)
    fingerprint = phone_screens.fingerprint(page.rows)
    if request.htmx and request.GET.get("seen") == fingerprint:
        return HttpResponse(status=204)  # no swap: the user may be copying a code
    scripted = scripted_numbers.OUTCOMES.items()
    context = {
        "form": form,
        "page": page,
        "screens": phone_screens.phone_screens(page.rows),
        "stamp": fingerprint,
        "is_filtered": bool(form.filters()),
        "magic": [(digits, *outcome) for digits, outcome in scripted],
    }
    return render(request, "cabinet/test_phone.html", context)
