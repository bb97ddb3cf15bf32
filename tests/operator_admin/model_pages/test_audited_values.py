"""Operators' changes in the admin are audited with old and new values, without secrets."""

from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEvent, Company, Member, User
from tests.factories import CompanyFactory, MemberFactory, UserFactory

pytestmark = pytest.mark.django_db


def filled_in(client: Client, url: str) -> dict[str, Any]:
    """The values that the form's page would send, unchanged."""
    context = client.get(url).context
    forms = [context["adminform"].form]
    for formset in context["inline_admin_formsets"]:
        forms += [formset.formset.management_form, *formset.formset.initial_forms]
    data: dict[str, Any] = {}
    for form in forms:
        for field in form:
            value = field.value()
            if value is None or value is False:
                continue
            data[field.html_name] = "on" if value is True else value
    return data


def change(client: Client, one: Company | User | Member, **fields: Any) -> AuditEvent | None:
    meta = one._meta
    url = reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[one.pk])
    response = client.post(url, filled_in(client, url) | fields)
    assert response.status_code == 302, response.context["errors"]
    return AuditEvent.objects.filter(action="admin.changed").order_by("-id").first()


def test_changed_company_settings_are_audited(client: Client, operator: User) -> None:
    company = CompanyFactory.create(brand="Старый", code_length=6)

    event = change(client, company, brand="Новый", code_length=5)

    assert event is not None
    assert (event.company, event.user) == (company, operator)
    assert event.changes == {"brand": ["Старый", "Новый"], "code_length": [6, 5]}


def test_nothing_changed_is_not_audited(client: Client, operator: User) -> None:
    company = CompanyFactory.create()

    assert change(client, company) is None


def test_role_changed_on_the_company_page_is_audited(client: Client, operator: User) -> None:
    member = MemberFactory.create(role="viewer")

    event = change(client, member.company, **{"members-0-role": "developer"})

    assert event is not None
    assert event.changes is not None
    ((name, values),) = event.changes.items()
    assert name.startswith("role (")
    assert values == ["viewer", "developer"]


def test_rights_of_an_operator_by_their_names(client: Client, operator: User) -> None:
    colleague = UserFactory.create(is_staff=True)
    first, second = Group.objects.create(name="First"), Group.objects.create(name="Second")
    colleague.groups.add(first)

    event = change(client, colleague, groups=[first.pk, second.pk])

    assert event is not None
    assert event.changes == {"groups": [["First"], ["First", "Second"]]}


def test_phone_is_masked(client: Client, operator: User) -> None:
    company = CompanyFactory.create(brand="Лавка")

    event = change(client, company, brand="+79161234567")

    assert event is not None
    assert "+79161234567" not in str(event.changes)


def test_page_of_the_audit_shows_them(client: Client, operator: User) -> None:
    company = CompanyFactory.create(brand="Старый")
    event = change(client, company, brand="Новый")
    assert event is not None

    for url in (
        reverse("admin:accounts_auditevent_changelist"),
        reverse("admin:accounts_auditevent_change", args=[event.pk]),
    ):
        assert "Бренд в сообщениях: Старый → Новый" in client.get(url).content.decode()


def test_values_are_escaped(client: Client, operator: User) -> None:
    company = CompanyFactory.create()
    AuditEvent.objects.create(
        company=company, action="settings.changed", changes={"brand": ["<b>x", "<i>y"]}
    )

    page = client.get(reverse("admin:accounts_auditevent_changelist")).content.decode()

    assert "&lt;b&gt;x" in page
    assert "<b>x" not in page
