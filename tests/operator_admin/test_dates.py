"""The admin writes a moment one way: on its own pages and in Django's lists, in each language."""

from datetime import UTC, datetime

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from accounts.models import Company
from tests.factories import CompanyFactory
from tests.operator_admin.operators import make_operator, sign_in

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("language", "words"), [("ru", "06.03.2026, 15:04"), ("en", "6 Mar 2026, 15:04")]
)
def test_list_and_own_pages_write_the_same_moment(
    client: Client, language: str, words: str
) -> None:
    company = CompanyFactory.create(status="pending")
    Company.objects.update(created_at=datetime(2026, 3, 6, 12, 4, tzinfo=UTC))
    sign_in(client, make_operator())
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = language

    for name, args in (
        ("admin:index", []),
        ("admin:attention", []),
        ("admin:accounts_company_changelist", []),
        ("admin:accounts_company_change", [company.pk]),
    ):
        assert words in client.get(reverse(name, args=args)).content.decode(), name


def test_nothing_is_a_dash_as_in_the_cabinet(client: Client) -> None:
    sign_in(client, make_operator())

    page = client.get(reverse("admin:accounts_user_changelist")).content.decode()

    assert ">—</td>" in page
    assert ">-</td>" not in page
