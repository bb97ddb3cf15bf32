"""Forms of the admin refuse what cannot be stored, and say why."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from django import forms
from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.postgres.forms import SimpleArrayField
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.http import HttpRequest
from django.test import Client
from django.urls import reverse

from channels.models import BlockedPhone
from tests.api.clients import Api
from tests.factories import CompanyFactory, LinkFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("operator")]


@pytest.mark.parametrize("chosen", ["9999-12-31", "", "9" * 5000, "٣", "é"])
@pytest.mark.parametrize("page", ["accounts_company", "links_link", "accounts_apikey"])
def test_row_that_cannot_be_is_not_ticked(client: Client, page: str, chosen: str) -> None:
    LinkFactory.create()
    data = {ACTION_CHECKBOX_NAME: [chosen], "action": "delete_selected", "index": "0"}

    response = client.post(reverse(f"admin:{page}_changelist"), data)

    assert response.status_code in {200, 302}


def test_impossible_search_text_finds_nothing(client: Client) -> None:
    field = {"app_label": "accounts", "model_name": "member", "field_name": "user"}

    response = client.get(reverse("admin:autocomplete"), field | {"term": "\x00"})

    assert response.json()["results"] == []


@pytest.mark.parametrize("chosen", ["9999-12-31", "9" * 5000, "é"])
@pytest.mark.parametrize("page", ["accounts_member", "billing_budget", "links_shorthost"])
def test_row_that_cannot_be_is_refused_in_a_form(client: Client, page: str, chosen: str) -> None:
    response = client.post(reverse(f"admin:{page}_add"), {"company": chosen})

    assert response.status_code == 200
    assert response.context["adminform"].form.errors["company"]


def test_secret_that_no_request_may_carry_is_refused(client: Client) -> None:
    path = "/admin/providers/smsc/"

    response = client.post(path, {"login": "kvitok", "password": "пароль", "sender": "Kvitok"})

    assert response.status_code == 200
    assert "password" in response.context["form"].errors


def test_member_that_cannot_be_is_refused_beside_a_company(client: Client) -> None:
    page = reverse("admin:accounts_company_change", args=[CompanyFactory.create().pk])
    form = client.get(page).context["adminform"].form
    given = {name: "" if value is None else value for name, value in form.initial.items()}
    given |= {"members-TOTAL_FORMS": "1", "members-INITIAL_FORMS": "0"}

    response = client.post(
        page, given | {"members-0-user": "9999-12-31", "members-0-role": "owner"}
    )

    assert response.status_code == 200


ADD_PHONE = reverse("admin:channels_blockedphone_add")
PHONES = reverse("admin:channels_blockedphone_changelist")
PHONE = "+79161234568"


@pytest.mark.parametrize(
    "typed", ["8 916 123-45-68", "79161234568", "9161234568", "+7 (916) 123-45-68", PHONE]
)
def test_phone_blocked_in_any_spelling_is_sent_no_code(
    client: Client, api: Api, typed: str
) -> None:
    client.post(ADD_PHONE, {"phone": typed, "reason": "a complaint"})

    response = api.post("/otp/send", {"phone": PHONE})

    assert BlockedPhone.objects.get().phone == PHONE
    assert (response.status, response.code) == (422, "recipient_unreachable")


@pytest.mark.parametrize("typed", ["abc", "123", "+7916", "911", ""])
def test_invalid_phone_is_refused_with_the_expected_format(client: Client, typed: str) -> None:
    page = client.post(ADD_PHONE, {"phone": typed, "reason": ""})

    assert page.context["adminform"].form.errors["phone"]
    assert not BlockedPhone.objects.exists()


def test_second_spelling_of_a_blocked_phone_is_a_duplicate(client: Client) -> None:
    BlockedPhone.objects.create(phone=PHONE)

    page = client.post(ADD_PHONE, {"phone": "8 916 123-45-68", "reason": ""})

    assert page.context["adminform"].form.errors["phone"]
    assert BlockedPhone.objects.count() == 1


@pytest.mark.parametrize("typed", ["8 916 123-45-68", "916123", "7916", "+7916123"])
def test_blocked_phone_is_found_in_any_spelling(client: Client, typed: str) -> None:
    BlockedPhone.objects.create(phone=PHONE)
    BlockedPhone.objects.create(phone="+77011234568")

    result = client.get(PHONES, {"q": typed}).context["cl"].result_list

    assert [blocked.phone for blocked in result] == [PHONE]


def test_database_keeps_other_spellings_out() -> None:
    with pytest.raises(IntegrityError, match="blocked_phone_is_e164"):
        BlockedPhone.objects.create(phone="79161234568")


BEYOND: list[object] = [["0001-01-01", "00:00"], ["9999-12-31", "23:59"]]
ODD: list[tuple[type[forms.Field], Sequence[object]]] = [
    (forms.SplitDateTimeField, BEYOND),
    (forms.DateField, ["0001-01-01", "9999-12-31"]),
    (forms.DecimalField, ["1_000", "9" * 5000, "1e999", "NaN", "Infinity"]),
    (forms.IntegerField, ["1_000", "9" * 5000, "1e999", "²", "NaN", str(2**63)]),
    (SimpleArrayField, ["a\x1b", "a\u202eb", "\ud800"]),
    (forms.CharField, ["a\x1b", "a\x85b", "a\u202eb", "\ud800", "\ufffe"]),
]


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
    read = [
        (form, name) for form, name in names if not name.startswith("password") and name != "phone"
    ]

    assert len(read) > 60
    wrong = {f"{form.__name__}.{name}": odd for form, name in read if (odd := accepted(form, name))}
    assert wrong == {}
