"""The cabinet's forms about saved filters of the lists of messages and requests."""

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.cabinet import saved_filters
from accounts.models import Member, SavedFilter
from accounts.people.roles import CabinetRequest, anyone, can_read_keys, member_required
from config.input.form_fields import LineField

ROUTES = {SavedFilter.Page.MESSAGES: "message-list", SavedFilter.Page.REQUESTS: "request-list"}
READERS = {SavedFilter.Page.MESSAGES: anyone, SavedFilter.Page.REQUESTS: can_read_keys}


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
    """Leads a list that is opened without a filter to the member's own one, if any."""
    if request.GET or request.htmx:
        return None
    query = saved_filters.default_query(request.user, request.company, page)
    return redirect(f"{request.path}?{query}") if query else None


@member_required(anyone, anyone)
def saved_filter_create(request: CabinetRequest) -> HttpResponse:
    """The list and its filter are in the query of the address, for `POST` too."""
    page = request.GET.get("list", SavedFilter.Page.MESSAGES)
    route = _route(page, request.member)
    form = SavedFilterForm(request.POST or None)
    if form.is_valid():
        try:
            made = saved_filters.save(
                user=request.user,
                company=request.company,
                page=page,
                given=request.GET,
                **form.cleaned_data,
            )
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(request, _("Filter saved."))
            return redirect(f"{reverse(route)}?{made.query or 'mode=live'}")
    context = {
        "form": form,
        "back": f"{reverse(route)}?{request.GET.urlencode()}",
        "leaves_out": any(request.GET.get(name) for name in ("phone", "id")),
    }
    return render(request, "cabinet/saved_filter_create.html", context)


@member_required(anyone, anyone)
def saved_filter_delete(request: CabinetRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(SavedFilter, pk=pk, user=request.user, company=request.company)
    route = reverse(ROUTES[SavedFilter.Page(row.page)])
    if request.method == "POST":
        row.delete()
        messages.success(request, _("Filter deleted."))
        return redirect(f"{route}?mode=live")
    context = {"row": row, "back": f"{route}?{row.query}"}
    return render(request, "cabinet/saved_filter_delete.html", context)


def _route(page: str, member: Member) -> str:
    if page not in SavedFilter.Page.values or not READERS[SavedFilter.Page(page)](member):
        raise Http404
    return ROUTES[SavedFilter.Page(page)]
