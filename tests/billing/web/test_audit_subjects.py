"""Top-ups and payments of the audit log are worded for the reader, old rows too."""

from django.test import Client
from django.urls import reverse

from accounts.models import Member
from billing.orders import orders
from tests.factories import OrderFactory

SPACE = "\u00a0"


def test_order_keeps_its_values_apart_and_is_read_as_one_line(
    client: Client, owner: Member
) -> None:
    order = OrderFactory.create(
        company=owner.company, tokens=1000, amount="1900.00", currency="RUB"
    )

    orders.cancel(order=order, user=owner.user)

    event = owner.company.audit.get(action="order.canceled")
    assert event.subject == order.public_id
    assert event.changes == {"tokens": [None, 1000], "amount": [None, "1900.00 RUB"]}
    body = client.get(reverse("audit-list")).content.decode().replace(SPACE, " ")
    assert f"пополнение {order.public_id}: 1 000 токенов, 1 900,00 ₽</span>" in body
    assert "tokens" not in body
