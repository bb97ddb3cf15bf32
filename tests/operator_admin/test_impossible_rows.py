"""Rows that there cannot be, chosen in lists and forms of the admin."""

import pytest
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.test import Client
from django.urls import reverse

from tests.factories import CompanyFactory, LinkFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("operator")]


@pytest.mark.parametrize("chosen", ["9999-12-31", "", "9" * 5000, "٣", "é"])
@pytest.mark.parametrize("page", ["accounts_company", "links_link", "accounts_apikey"])
def test_row_that_cannot_be_is_not_ticked(client: Client, page: str, chosen: str) -> None:
    LinkFactory.create()
    data = {ACTION_CHECKBOX_NAME: [chosen], "action": "delete_selected", "index": "0"}

    answer = client.post(reverse(f"admin:{page}_changelist"), data)

    assert answer.status_code in {200, 302}


@pytest.mark.parametrize("chosen", ["9999-12-31", "9" * 5000, "é"])
@pytest.mark.parametrize("page", ["accounts_member", "billing_budget", "links_shorthost"])
def test_row_that_cannot_be_is_refused_in_a_form(client: Client, page: str, chosen: str) -> None:
    answer = client.post(reverse(f"admin:{page}_add"), {"company": chosen})

    assert answer.status_code == 200
    assert answer.context["adminform"].form.errors["company"]


def test_secret_that_no_request_may_carry_is_refused(client: Client) -> None:
    path = "/admin/providers/smsc/"

    answer = client.post(path, {"login": "kvitok", "password": "пароль", "sender": "Kvitok"})

    assert answer.status_code == 200
    assert "password" in answer.context["form"].errors


def test_member_that_cannot_be_is_refused_beside_a_company(client: Client) -> None:
    page = reverse("admin:accounts_company_change", args=[CompanyFactory.create().pk])
    form = client.get(page).context["adminform"].form
    given = {name: "" if value is None else value for name, value in form.initial.items()}
    given |= {"members-TOTAL_FORMS": "1", "members-INITIAL_FORMS": "0"}

    answer = client.post(page, given | {"members-0-user": "9999-12-31", "members-0-role": "owner"})

    assert answer.status_code == 200
