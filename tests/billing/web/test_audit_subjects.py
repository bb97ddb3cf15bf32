"""Top-ups and payments in the audit log read well, old rows too."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import translation

from accounts.audit import subject
from accounts.models import AuditEvent, Member
from billing.orders import orders
from tests.factories import OrderFactory

SPACE = "\u00a0"


@pytest.mark.parametrize(
    ("action", "kept", "text"),
    [
        ("order.created", "2026-1: 1000 = 1900.00 RUB", "счёт 2026-1: 1 000 токенов, 1 900,00 ₽"),
        ("order.confirmed", "top_01a: 1 = 2.00 USD", "пополнение top_01a: 1 токен, 2,00 $"),
        ("order.canceled", "top_01a", "top_01a"),
        ("payment.recorded", "1900.00 RUB 2f5a-1", "1 900,00 ₽, 2f5a-1"),
        ("payment.settled", "2f5a-1", "2f5a-1"),
    ],
)
def test_subject_of_an_old_row_is_worded(action: str, kept: str, text: str) -> None:
    event = AuditEvent(action=action, subject=kept)

    with translation.override("ru"):
        assert subject(event).replace(SPACE, " ") == text


def test_order_event_stores_values_and_shows_one_line(client: Client, owner: Member) -> None:
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


@pytest.mark.parametrize(
    ("action", "changes", "text"),
    [
        (
            "payment.settled",
            {"resolution": ["", "returned"], "note": ["", "до пятницы"]},
            "1 900,00 ₽, 2f5a-1, возвращён плательщику, до пятницы",
        ),
        ("payment.accepted", {"tokens": ["1000", 999]}, "1 900,00 ₽, 2f5a-1, 999 токенов"),
    ],
)
def test_settled_payment_is_worded_with_its_resolution(
    action: str, changes: dict[str, Any], text: str
) -> None:
    event = AuditEvent(action=action, subject="1900.00 RUB 2f5a-1", changes=changes)

    with translation.override("ru"):
        assert subject(event).replace(SPACE, " ") == text
