"""Named filters of the lists of messages and requests: saved, applied, deleted."""

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.form_pages import PageLink, confirm_page, form_page, refusals_on
from accounts.models import Company, Member, SavedFilter, User
from accounts.people.cabinet_access import (
    CabinetRequest,
    anyone,
    can_read_technical_pages,
    member_required,
)
from parsing.form_fields import LineField

# Never a phone or an id: they identify a person.
SAVED_FIELDS = {
    SavedFilter.Page.MESSAGES: (
        *("mode", "channel", "state", "kind", "api_key", "country", "purpose"),
        *("period", "date_from", "date_to"),
    ),
    SavedFilter.Page.REQUESTS: ("mode", "outcome", "code", "api_key", "day"),
}
MAX_VALUE_LENGTH = 64  # characters; a longer value is dropped


class Chip(NamedTuple):
    row: SavedFilter
    is_active: bool


def of_user(user: User, company: Company, page: str) -> QuerySet[SavedFilter]:
    return SavedFilter.objects.filter(user=user, company=company, page=page)


def query_of(page: str, params: Mapping[str, str]) -> str:
    """The filter's canonical query string: equal filters have equal ones."""
    names = SAVED_FIELDS[SavedFilter.Page(page)]
    values = [(name, params.get(name, "")) for name in names]
    return urlencode([(name, text) for name, text in values if 0 < len(text) <= MAX_VALUE_LENGTH])


def chips(user: User, company: Company, page: str, params: Mapping[str, str]) -> list[Chip]:
    query = query_of(page, params)
    return [Chip(row, row.query == query) for row in of_user(user, company, page)]


def default_query(user: User, company: Company, page: str) -> str | None:
    """The query of the filter that the list opens with by default."""
    rows = of_user(user, company, page).filter(is_default=True)
    return rows.values_list("query", flat=True).first()


@transaction.atomic
def save(
    *,
    user: User,
    company: Company,
    page: str,
    name: str,
    params: Mapping[str, str],
    is_default: bool,
) -> SavedFilter:
    """Saves the filter, or replaces one of this name; raises ValidationError over MAX_SAVED."""
    User.objects.select_for_update(no_key=True).get(pk=user.pk)  # parallel saves wait here
    rows = of_user(user, company, page)
    if is_default:
        rows.update(is_default=False)
    values: dict[str, Any] = {"query": query_of(page, params), "is_default": is_default}
    if existing := rows.filter(name__iexact=name).first():
        existing.query = values["query"]
        existing.is_default = is_default
        existing.save(update_fields=["query", "is_default"])
        return existing
    if rows.count() >= SavedFilter.MAX_SAVED:
        raise ValidationError(
            _("You have %(max)d saved filters here. Delete one first."),
            params={"max": SavedFilter.MAX_SAVED},
        )
    return SavedFilter.objects.create(user=user, company=company, page=page, name=name, **values)


ROUTES = {SavedFilter.Page.MESSAGES: "message-list", SavedFilter.Page.REQUESTS: "request-list"}
READERS = {SavedFilter.Page.MESSAGES: anyone, SavedFilter.Page.REQUESTS: can_read_technical_pages}


class SavedFilterForm(forms.Form):
    name = LineField(
        label=gettext_lazy("Name"),
        max_length=40,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    is_default = forms.BooleanField(
        label=gettext_lazy("Open the list with this filter"), required=False
    )


def opened_with_default(request: CabinetRequest, page: str) -> HttpResponse | None:
    """Redirects a list that is opened without a filter to the member's default one, if any."""
    if request.GET or request.htmx:
        return None
    query = default_query(request.user, request.company, page)
    return redirect(f"{request.path}?{query}") if query else None


@member_required(anyone, anyone)
def saved_filter_create(request: CabinetRequest) -> HttpResponse:
    """Saves a filter; the list and its filter are in the URL's query string, for `POST` too."""
    page = request.GET.get("list", SavedFilter.Page.MESSAGES)
    route = _route(page, request.member)
    form = SavedFilterForm(request.POST or None)
    if form.is_valid():
        with refusals_on(form):
            saved_filter = save(
                user=request.user,
                company=request.company,
                page=page,
                params=request.GET,
                **form.cleaned_data,
            )
            messages.success(request, _("Filter saved."))
            return redirect(f"{reverse(route)}?{saved_filter.query or 'mode=live'}")
    is_for_a_person = any(request.GET.get(name) for name in ("phone", "id"))
    left_out = _("The phone or the id that you searched for is not saved: it is personal data.")
    return form_page(
        request,
        form,
        _("Save the filter"),
        verb=_("Save"),
        back=PageLink(f"{reverse(route)}?{request.GET.urlencode()}", _("Back to the list")),
        lead=left_out if is_for_a_person else "",
        note=_("A filter of the same name is replaced. Only you see it."),
    )


@member_required(anyone, anyone)
def saved_filter_delete(request: CabinetRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(SavedFilter, pk=pk, user=request.user, company=request.company)
    route = reverse(ROUTES[SavedFilter.Page(row.page)])
    if request.method == "POST":
        row.delete()
        messages.success(request, _("Filter deleted."))
        return redirect(f"{route}?mode=live")
    back = PageLink(f"{route}?{row.query}", _("Back to the list"))
    return confirm_page(
        request, _("Delete the filter"), verb=_("Delete"), back=back, subject=row.name
    )


def _route(page: str, member: Member) -> str:
    if page not in SavedFilter.Page.values or not READERS[SavedFilter.Page(page)](member):
        raise Http404
    return ROUTES[SavedFilter.Page(page)]
