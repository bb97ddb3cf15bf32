"""Every form of the admin reads days, integers and lines by the parsers of `parsing`."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from django import forms
from django.contrib import admin
from django.contrib.postgres.forms import SimpleArrayField
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.test import RequestFactory

from tests.operator_admin.operators import make_operator

pytestmark = pytest.mark.django_db

BEYOND: list[object] = [["0001-01-01", "00:00"], ["9999-12-31", "23:59"]]
ODD: list[tuple[type[forms.Field], Sequence[object]]] = [
    (forms.SplitDateTimeField, BEYOND),
    (forms.DateField, ["0001-01-01", "9999-12-31"]),
    (forms.DecimalField, ["1_000", "9" * 5000, "1e999", "NaN", "Infinity"]),
    (forms.IntegerField, ["1_000", "9" * 5000, "1e999", "²", "NaN", str(2**63)]),
    (SimpleArrayField, ["a\x1b", "a\u202eb", "\ud800"]),
    (forms.CharField, ["a\x1b", "a\x85b", "a\u202eb", "\ud800", "\ufffe"]),
]


@pytest.fixture
def request_of_operator(rf: RequestFactory) -> HttpRequest:
    request = rf.get("/")
    request.user = make_operator()
    return request


def forms_of(request: HttpRequest) -> Iterator[Any]:
    for model_admin in admin.site._registry.values():
        if model_admin.has_add_permission(request):
            yield model_admin.get_form(request)
        elif model_admin.has_change_permission(request):
            yield model_admin.get_form(request, model_admin.model(), change=True)
        for inline in model_admin.get_inline_instances(request):
            if inline.has_add_permission(request, None):
                yield inline.get_formset(request).form


def accepted(form: Any, name: str) -> list[object]:
    field = form.base_fields[name]
    values = next((values for kind, values in ODD if isinstance(field, kind)), [])
    return [value for value in values if not is_refused(form, name, value)]


def is_refused(form: Any, name: str, value: object) -> bool:
    model = form._meta.model
    try:
        cleaned = form.base_fields[name].clean(value)
        if name in {field.name for field in model._meta.fields}:
            model._meta.get_field(name).clean(cleaned, model())
    except ValidationError:
        return True
    return False


def test_every_field_refuses_odd_values(request_of_operator: HttpRequest) -> None:
    names = [(form, name) for form in forms_of(request_of_operator) for name in form.base_fields]
    # What is typed as a password is one, and `clean_phone` reads what is pasted as a phone.
    read = [one for one in names if not one[1].startswith("password") and one[1] != "phone"]

    assert len(read) > 60
    wrong = {f"{form.__name__}.{name}": odd for form, name in read if (odd := accepted(form, name))}
    assert wrong == {}
