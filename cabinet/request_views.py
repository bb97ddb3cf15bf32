"""The cabinet's pages about API requests: the list, and a request with advice about its error."""

from datetime import datetime, timedelta
from typing import Any, cast

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import Resolver404, resolve
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.masked_phones import mask_phone
from accounts.models import ApiKey, Company, Mode, SavedFilter
from accounts.people.cabinet_access import CabinetRequest, can_read_technical_pages, member_required
from api import idempotency
from api.calls import Call
from api.models import ApiRequest
from api.pagination import is_live, page_or_first
from api.unknown_fields import closest_name
from cabinet import saved_filters
from cabinet.forms import ModeFilterForm
from catalogue.errors import Error
from catalogue.ids import parse_id, public_id, started_at
from parsing.days import start_of
from parsing.form_fields import DayBoundField, LineField

ID_TIME_TOLERANCE = timedelta(minutes=1)  # tolerance between an id's time and its request's
OUTCOMES: dict[str, tuple[Any, Q]] = {
    "ok": (_("answered"), Q(status__lt=400)),
    "warned": (_("with unknown fields"), Q(status__lt=400) & ~Q(fields=[])),
    "refused": (_("refused"), Q(status__gte=400, status__lt=500)),
    "failed": (_("failed"), Q(status__gte=500)),
}


class RequestFilter(ModeFilterForm):
    id = LineField(
        label=_("Request or message id"),
        max_length=60,
        required=False,
        widget=forms.TextInput(attrs={"placeholder": "req_… / msg_…", "spellcheck": "false"}),
    )
    phone = forms.CharField(
        label=_("Phone"),
        max_length=30,
        required=False,
        widget=forms.TextInput(attrs={"inputmode": "tel", "placeholder": "+7 916 123-45-67"}),
    )
    outcome = forms.ChoiceField(
        label=_("Response"),
        required=False,
        choices=[("", _("any")), *((name, title) for name, (title, _q) in OUTCOMES.items())],
    )
    code = LineField(
        label=_("Error code"),
        max_length=40,
        required=False,
        widget=forms.TextInput(attrs={"placeholder": "invalid_phone", "spellcheck": "false"}),
    )
    api_key = forms.ModelChoiceField(
        label=_("Key"), queryset=ApiKey.objects.none(), required=False, empty_label=_("any")
    )
    day = DayBoundField(label=_("Day"), required=False)

    def __init__(self, *args: Any, company: Company, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        key = cast("forms.ModelChoiceField[ApiKey]", self.fields["api_key"])
        key.queryset = company.api_keys.all()

    def clean_id(self) -> str:
        text: str = self.cleaned_data["id"].strip().lower()
        if text and not (started_at(text) or parse_id("msg", text)):
            raise ValidationError(_("Enter the full id: it starts with req_ or msg_."))
        return text

    def clean_phone(self) -> str:
        phone: str = "".join(char for char in self.cleaned_data["phone"] if char in "+0123456789")
        if self.cleaned_data["phone"] and not (phone.startswith("+") and len(phone) > 9):
            raise ValidationError(_("Enter the full number with a plus: phones are kept masked."))
        return phone


@member_required(can_read_technical_pages)
def request_list(request: CabinetRequest) -> HttpResponse:
    if first := saved_filters.opened_with_default(request, SavedFilter.Page.REQUESTS):
        return first
    form = RequestFilter(request.GET, company=request.company)
    filters = form.filters()
    history = _history(request.company, filters)
    context = {
        "form": form,
        "mode": form.mode_chosen,
        "page": page_or_first(_matching(history, filters), request.GET, history=history),
        "is_filtered": bool(filters.keys() - {"mode"}),
        "days": settings.REQUEST_LOG_DAYS,
        "filters": saved_filters.chips(
            request.user, request.company, SavedFilter.Page.REQUESTS, request.GET
        ),
        "is_live": is_live(request),
    }
    return render(request, "cabinet/request_list.html", context)


def _history(company: Company, filters: dict[str, Any]) -> QuerySet[ApiRequest]:
    """The rows to filter; those around the time in an id, of both modes, if one is searched for."""
    rows = ApiRequest.objects.filter(company=company).select_related("api_key")
    if searched := filters.get("id"):
        at = started_at(searched) or _time_of(searched)
        around = (at - ID_TIME_TOLERANCE, at + ID_TIME_TOLERANCE)
        return rows.filter(mode__in=Mode.values, created_at__range=around)
    rows = rows.filter(mode=filters.get("mode", Mode.LIVE))
    if day := filters.get("day"):
        rows = rows.filter(created_at__range=(start_of(day), start_of(day + timedelta(days=1))))
    return rows


def _time_of(text: str) -> datetime:
    """The time in a message's id, which begins with Unix milliseconds (RFC 9562)."""
    message_id = parse_id("msg", text)
    milliseconds = message_id.int >> 80 if message_id else 0
    return datetime.fromtimestamp(
        min(milliseconds, 2**41) / 1000, tz=timezone.get_current_timezone()
    )


def _matching(rows: QuerySet[ApiRequest], filters: dict[str, Any]) -> QuerySet[ApiRequest]:
    if searched := filters.get("id"):
        message_id = parse_id("msg", searched)
        return (
            rows.filter(message_id=message_id) if message_id else rows.filter(request_id=searched)
        )
    if outcome := filters.get("outcome"):
        rows = rows.filter(OUTCOMES[outcome][1])
    if phone := filters.get("phone"):
        rows = rows.filter(phone=mask_phone(phone))
    return rows.filter(**{name: filters[name] for name in ("code", "api_key") if name in filters})


@member_required(can_read_technical_pages)
def request_detail(request: CabinetRequest, request_id: str) -> HttpResponse:
    row = with_id(request.company, request_id).first()
    if row is None:
        raise Http404
    error = {error.code: error for error in Error}.get(row.code)
    faulty, unknown = _named_fields(row)
    context = {
        "call": row,
        "faulty_fields": faulty,
        "unknown_fields": unknown,
        "text": error.message if error else "",
        "message": public_id("msg", row.message_id) if row.message_id else "",
        "days": settings.REQUEST_LOG_DAYS,
    }
    return render(request, "cabinet/request_detail.html", context)


def is_logged(company: Company, request_id: str) -> bool:
    """Whether the request has a page: the log is kept for days, a request's effects for months."""
    return with_id(company, request_id).exists()


def with_id(company: Company, request_id: str) -> QuerySet[ApiRequest]:
    """The request, found by the time in its id: `request_id` itself has no index."""
    if not started_at(request_id):
        return ApiRequest.objects.none()
    by_id = {"id": request_id}
    return _matching(_history(company, by_id), by_id)


def _named_fields(row: ApiRequest) -> tuple[list[str], list[tuple[str, str | None]]]:
    """The logged fields that the call has, and unknown ones with the most similar field."""
    call = _call_of(row)
    if call is None or not call.has_body:
        return row.fields, []
    names = call.body_names()
    faulty = [name for name in row.fields if name in {*names, idempotency.HEADER}]
    return faulty, [(name, closest_name(name, names)) for name in row.fields if name not in faulty]


def _call_of(row: ApiRequest) -> Call | None:
    """The declared call; None for a call that this release lacks."""
    try:
        calls = resolve(f"/api/v1{row.path}").func.view_class.calls  # type: ignore[attr-defined]
    except Resolver404:
        return None
    return next(
        (call for call in calls if (call.method, call.path) == (row.method, row.path)), None
    )
