"""An operator's form beside another change of its row."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse

from accounts.models import Company
from tests.api.blocking import behind_us
from tests.factories import CompanyFactory
from tests.operator_admin.operators import make_operator, sign_in


@pytest.mark.django_db(transaction=True)
def test_form_of_an_operator_undoes_no_suspension(client: Client) -> None:
    company = CompanyFactory.create(status=Company.Status.APPROVED)
    sign_in(client, make_operator(), "password", "mfa")
    page = reverse("admin:accounts_company_change", args=[company.pk])
    form = client.get(page).context["adminform"].form
    given = {name: "" if value is None else value for name, value in form.initial.items()}
    given |= {"name": "Daisy", "members-TOTAL_FORMS": "0", "members-INITIAL_FORMS": "0"}

    with ThreadPoolExecutor() as pool:
        with transaction.atomic():
            Company.objects.filter(pk=company.pk).update(status=Company.Status.SUSPENDED)
            saving = behind_us(pool, lambda: client.post(page, given))
        assert saving.result().status_code == 302

    company.refresh_from_db()
    assert (company.name, company.status) == ("Daisy", Company.Status.SUSPENDED)
