"""The work that waits for the operator: every kind, the oldest first, one link from its action."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.models import Company, User
from billing.models import Payment, Refund
from channels.models import ProviderAlert, VendorApproval
from links.models import Report
from operator_admin import attention
from operator_admin.attention import KINDS
from operator_admin.models import Alert
from tests.billing.bank_statements.transfers import paid, received
from tests.billing.top_ups import place_order
from tests.document_factories import ClosedMonthFactory
from tests.factories import CompanyFactory, LinkFactory, SellerFactory
from tests.operator_admin.operators import make_operator, sign_in
from tests.operator_admin.test_incidents import opened

pytestmark = pytest.mark.django_db


def fill() -> None:
    """Stores a row of each kind."""
    now = timezone.now()
    CompanyFactory.create(status="pending", name="Ромашка")
    Report.objects.create(link=LinkFactory.create(), reason="spam")
    Payment.objects.create(
        gateway="invoice",
        payment_id="p1",
        amount=Decimal(5),
        currency="RUB",
        problem=Payment.Problem.UNKNOWN_ORDER,
    )
    Refund.objects.create(
        gateway="stripe", refund_id="r1", payment_reference="x", amount=Decimal(5), currency="RUB"
    )
    SellerFactory.create()
    received(paid(place_order(CompanyFactory.create(), "invoice"), amount=Decimal(5)))
    ClosedMonthFactory.create(is_due=True)
    Alert.objects.create(
        rule="redis-down", began_at=now - timedelta(days=2), due_at=now, notices=1, details={}
    )
    ProviderAlert.objects.create(provider="twilio", code="30034", kind="warning")
    VendorApproval.objects.create(
        provider="whatsapp_cloud",
        kind="template",
        name="code",
        language="ru",
        status="paused",
        is_used=True,
    )
    opened()


def test_every_kind_is_shown_and_leads_to_a_page(client: Client, operator: User) -> None:
    fill()

    response = client.get(reverse("admin:attention"))
    result = response.context["items"]

    assert {str(entry.kind.title) for entry in result} == {
        str(kind.title) for kind in KINDS.values()
    }
    assert [entry.since for entry in result] == sorted(entry.since for entry in result)
    for entry in result:
        assert client.get(entry.url).status_code == 200, entry
    assert response.context["total"] == len(KINDS)


def test_settled_cases_are_not_counted(client: Client, operator: User) -> None:
    fill()
    Company.objects.update(status="approved")
    now = timezone.now()
    Report.objects.update(handled_at=now)
    Payment.objects.update(settled_at=now)
    Alert.objects.update(ended_at=now)
    VendorApproval.objects.update(status="approved")
    ProviderAlert.objects.update(at=now - timedelta(days=2))

    counts = {count.name for count in attention.counts(list(KINDS))}

    assert counts == {"refund", "month", "incident", "transfer"}


def test_unused_template_needs_no_review(client: Client, operator: User) -> None:
    VendorApproval.objects.create(
        provider="whatsapp_cloud", kind="template", name="old", status="rejected", is_used=False
    )

    assert attention.counts(list(KINDS)) == []
    assert "Всё разобрано" in client.get(reverse("admin:attention")).content.decode()


def test_operator_sees_only_permitted_items(client: Client) -> None:
    user = make_operator()
    User.objects.filter(pk=user.pk).update(is_superuser=False)
    user.user_permissions.add(Permission.objects.get(codename="view_payment"))
    sign_in(client, user, "password", "mfa")
    fill()

    result = client.get(reverse("admin:attention")).context["items"]
    filtered = client.get(reverse("admin:attention") + "?kind=company").context["items"]

    assert {str(entry.kind.title) for entry in result} == {
        str(KINDS["payment"].title),
        str(KINDS["alert"].title),
    }
    assert filtered == result


@pytest.mark.parametrize("page", ["-1", "x", "²", "99999999999999999999"])
def test_odd_page_numbers_are_handled(client: Client, operator: User, page: str) -> None:
    assert client.get(reverse("admin:attention"), {"page": page}).status_code == 200


def test_list_is_paged_without_a_query_per_row(client: Client, operator: User) -> None:
    url = reverse("admin:attention")
    client.get(url)

    def ask() -> int:
        with CaptureQueriesContext(connection) as asked:
            client.get(url)
        return len(asked)

    fill()
    few = ask()
    CompanyFactory.create_batch(60, status="pending")
    assert ask() == few
    assert "?page=1" in client.get(url).content.decode()
    assert len(client.get(url + "?page=1").context["items"]) == 60 + len(KINDS) - 50
