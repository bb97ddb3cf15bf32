"""The admin's page about one person: everything about a phone, exported or erased."""

from typing import Any

import orjson
from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.client_ip import client_ip
from accounts.model_admin.admin import operator
from operator_admin.site import page
from persons.erasure import NotFinishedError, erase
from persons.export import export
from persons.person import Person, lift_timeout, parse_phone
from persons.phones_in_links import find_rows_and_links


class PersonForm(forms.Form):
    phone = forms.CharField(
        label=gettext_lazy("Phone"),
        max_length=40,
        help_text=gettext_lazy("In any spelling, as +79161234567."),
        widget=forms.TextInput({"type": "tel", "autocomplete": "off"}),
    )

    def clean_phone(self) -> str:
        phone = parse_phone(self.cleaned_data["phone"])
        if phone is None:
            raise forms.ValidationError(_("This is not a phone number."))
        return phone


@page("persons/", "persons")
def persons(request: HttpRequest) -> HttpResponse:
    """The phone comes in the body alone: addresses are logged."""
    if not request.user.has_perm("persons.add_erasure"):
        raise PermissionDenied
    form = PersonForm(request.POST or None)
    if not form.is_valid():
        return _show(request, "persons", {"form": form})
    person = Person(form.cleaned_data["phone"])
    if "export" in request.POST:
        return _download(request, person)
    if "confirmed" in request.POST and _erase(request, person, form):
        return redirect("admin:persons")
    if "erase" in request.POST:
        return _show(request, "person_erase", {"form": form, **_found(person)})
    return _show(request, "persons", {"form": form})


@transaction.atomic
def _found(person: Person) -> dict[str, Any]:
    with connection.cursor() as cursor:
        lift_timeout(cursor)
        rows = find_rows_and_links(cursor, person)
    counts = {"sent": len(rows.messages), "links": len(rows.links)}
    return {"phone": person.phone, "companies": len(rows.companies), **counts}


def _download(request: HttpRequest, person: Person) -> HttpResponse:
    exported = export(person=person, user=operator(request), ip=client_ip(request.META))
    text = orjson.dumps(exported, option=orjson.OPT_INDENT_2 | orjson.OPT_UTC_Z)
    headers = {"Content-Disposition": 'attachment; filename="person.json"'}
    return HttpResponse(text, content_type="application/json", headers=headers)


def _erase(request: HttpRequest, person: Person, form: PersonForm) -> bool:
    try:
        erase(person=person, user=operator(request), ip=client_ip(request.META))
    except NotFinishedError as busy:
        until = date_format(timezone.localtime(busy.until), "SHORT_DATETIME_FORMAT")
        form.add_error(
            "phone",
            _("A message is still open or a code can be entered. Try again after %(until)s.")
            % {"until": until},
        )
        return False
    messages.success(request, _("Everything about this number was erased."))
    return True


def _show(request: HttpRequest, template: str, context: dict[str, object]) -> HttpResponse:
    title = {"title": _("Personal data"), **admin.site.each_context(request)}
    return TemplateResponse(request, f"operator_admin/{template}.html", title | context)
