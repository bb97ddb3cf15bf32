"""The admin's pages of prices."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import AuditEvent, User
from billing import message_prices
from billing.models import SmsPrice

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("operator")]
ADD = "/admin/billing/smsprice/add/"


def add(client: Client, *, days: float = 0, **fields: Any) -> Any:
    at = timezone.localtime() + timedelta(days=days)
    when = {"starts_at_0": f"{at:%Y-%m-%d}", "starts_at_1": f"{at:%H:%M:%S}"}
    return client.post(ADD, {"country": "KZ", "tokens": "22"} | when | fields)


def test_price_is_added_and_audited(client: Client, operator: User) -> None:
    assert add(client).status_code == 302

    price = SmsPrice.objects.get()
    assert (price.country, price.tokens, price.created_by) == ("KZ", 22, operator)
    assert message_prices.price_of("sms", "KZ") == 22
    event = AuditEvent.objects.get(action="prices.changed")
    assert event.subject.startswith("KZ: 22")


@pytest.mark.parametrize(
    "fields", [{"country": "XX"}, {"tokens": "0"}, {"tokens": "1001"}, {"days": -1}]
)
def test_wrong_price_is_refused(client: Client, fields: dict[str, Any]) -> None:
    assert add(client, **fields).status_code == 200

    assert SmsPrice.objects.count() == 0


def test_price_that_has_begun_cannot_be_changed(client: Client) -> None:
    price = SmsPrice.objects.create(country="KZ", tokens=22)
    address = reverse("admin:billing_smsprice_change", args=[price.pk])

    assert client.post(address, {"country": "KZ", "tokens": "1"}).status_code == 403
    delete = reverse("admin:billing_smsprice_delete", args=[price.pk])
    assert client.post(delete, {"post": "yes"}).status_code == 403
    price.refresh_from_db()
    assert price.tokens == 22


def test_future_price_can_be_deleted(client: Client) -> None:
    add(client, days=2)
    price = SmsPrice.objects.get()

    client.post(reverse("admin:billing_smsprice_delete", args=[price.pk]), {"post": "yes"})

    assert SmsPrice.objects.count() == 0
    assert AuditEvent.objects.filter(action="prices.changed").count() == 2


def test_list_says_which_price_holds(client: Client) -> None:
    for hours, tokens in ((-3, 20), (-1, 22), (1, 30)):
        at = timezone.now() + timedelta(hours=hours)
        SmsPrice.objects.create(country="KZ", tokens=tokens, starts_at=at)

    page = client.get(reverse("admin:billing_smsprice_changelist"))

    held = {
        row.tokens: row.starts_at <= timezone.now() and not row.is_replaced
        for row in page.context["cl"].result_list
    }
    assert held == {20: False, 22: True, 30: False}
    assert "Казахстан" in page.content.decode()
