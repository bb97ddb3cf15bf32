"""An open page of the cabinet does not undo a change by a colleague or the API."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django import forms
from django.test import Client
from django.urls import reverse

from accounts.models import Company
from parsing.stale_forms import STALE_FORM, RefusesStaleForm
from tests.accounts.security.people import confirm
from tests.cabinet.pages import create_content
from tests.cabinet.routes import CABINET, Kind, address
from tests.factories import MemberFactory

# By the page: where its form is sent if not there, and a field with two values of it.
FORMS = {
    "policy-rule-edit": ("", "max_cost", "7", "9"),
    "text-edit": ("", "body", "{code} is your code.", "{code}: your code."),
    "autofill-edit": ("", "webotp_host", "shop.example.com", "login.example.com"),
    "webhook-edit": ("", "description", "first", "second"),
    "hook-edit": ("", "name", "first", "second"),
    "link-edit": ("", "url", "https://example.com/first", "https://example.com/second"),
    "budget-edit": ("", "day", "7", "9"),
    "balance-automatic": ("", "threshold", "7", "9"),
    "balance-profile": ("", "legal_name", "First", "Second"),
    "protection": ("protection-mode", "mode", "watch", "off"),
    "profile": ("", "name", "First", "Second"),
}
# A form of one field says what its reader wants; the settings have a version by section.
OTHERS = {"member-role", "balance", "settings"}
# What else their page needs.
BESIDE = {
    "balance-automatic": {"consent": "on", "max_amount_per_month": "1000000", "package": "start"}
}
# Nothing is stored yet of what they make or list.
WITHOUT_STORED_VALUES = {
    "link-import",
    "document-list",
    "link-create",
    "send",
    "key-create",
    "key-create-client",
    "webhook-create",
    "hook-create",
    "text-create",
    "policy-rule-create",
}


@pytest.fixture
def client(company: Company) -> Client:
    create_content(company)
    client = Client()
    client.force_login(MemberFactory.create(company=company, role="owner").user)
    confirm(client)
    return client


def path_of(name: str, company: Company) -> str:
    return address(name, company) if name in CABINET else reverse(name)


def forms_of(client: Client, path: str) -> Iterator[forms.BaseForm]:
    context: Any = client.get(path).context
    for values in context or []:
        yield from (form for form in values.flatten().values() if isinstance(form, forms.BaseForm))


def filled_in(client: Client, path: str) -> dict[str, Any]:
    """The values that the page's form would send, unchanged."""
    form = next(form for form in forms_of(client, path) if isinstance(form, RefusesStaleForm))
    values = {field.html_name: field.value() for field in form}
    assert f'value="{values["version"]}"' in client.get(path).content.decode()
    return {
        name: "on" if value is True else value
        for name, value in values.items()
        if value is not None and value is not False
    }


@pytest.mark.parametrize("name", FORMS)
def test_stale_form_changes_nothing(client: Client, company: Company, name: str) -> None:
    path = path_of(name, company)
    target, field, first, second = FORMS[name]
    target = reverse(target) if target else path
    opened = filled_in(client, path) | BESIDE.get(name, {})

    saved = client.post(target, opened | {field: first})
    path = path_of(name, company)
    refused = client.post(target, opened | {field: second}, follow=True)

    assert saved.status_code == 302
    assert str(STALE_FORM) in refused.content.decode()
    assert str(filled_in(client, path)[field]) == first


@pytest.mark.parametrize("is_overtaken", [False, True])
@pytest.mark.parametrize("name", ["balance-profile", "hook-edit"])
def test_form_keeps_its_version_through_reauthentication(
    client: Client, company: Company, name: str, *, is_overtaken: bool
) -> None:
    path, (_target, field, first, second) = path_of(name, company), FORMS[name]
    late = Client()
    late.force_login(MemberFactory.create(company=company, role="owner").user)
    opened = filled_in(late, path)
    asked = late.post(path, opened | {field: second})
    if is_overtaken:
        client.post(path, opened | {field: first})
    confirm(late)

    then = parse_qs(urlsplit(asked["Location"]).query)["next"][0]
    draft = filled_in(late, then)
    late.post(then if name == "hook-edit" else path, draft)

    assert draft[field] == second
    assert filled_in(client, path)[field] == (first if is_overtaken else second)


def test_every_form_over_stored_values_is_covered(client: Client, company: Company) -> None:
    pages = [name for name, route in CABINET.items() if route.kind is Kind.PAGE and route.read]
    stored = set()
    for name in [*pages, "profile"]:
        result = [form for form in forms_of(client, path_of(name, company)) if form.initial]
        stored |= {name for form in result if set(form.initial) & set(form.fields)}

    assert stored - WITHOUT_STORED_VALUES == FORMS.keys() | OTHERS
