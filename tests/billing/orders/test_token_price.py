"""Money beside tokens: by the price of the newest order that was paid."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone, translation

from accounts.models import Member
from billing.orders.prices import TokenPrice, last_paid_price
from billing.templatetags.money import worth
from tests.factories import CompanyFactory, MessageFactory, OrderFactory, TransferFactory

pytestmark = pytest.mark.django_db


def pay(member: Member, days_ago: int, **order: object) -> None:
    at = timezone.now() - timedelta(days=days_ago)
    OrderFactory.create(company=member.company, state="paid", created_at=at, paid_at=at, **order)


def test_price_is_that_of_the_newest_paid_order(owner: Member) -> None:
    assert last_paid_price(owner.company_id) is None
    pay(owner, 5, tokens=1000, amount=Decimal("2000.00"))
    pay(owner, 9, tokens=1000, amount=Decimal("3000.00"))
    OrderFactory.create(company=owner.company, tokens=1, amount=Decimal("9.00"))  # not paid
    OrderFactory.create(company=CompanyFactory.create(), state="paid", paid_at=timezone.now())

    assert last_paid_price(owner.company_id) == TokenPrice(Decimal(2), "RUB")


def test_sums_are_rounded_once() -> None:
    third = TokenPrice(Decimal("1000.00") / 3000, "EUR")

    assert third.of(1) == Decimal("0.33")
    assert third.of(3) == Decimal("1.00")
    assert third.of(3_000_000) == Decimal("1000000.00")
    with translation.override("ru"):
        assert worth(16, TokenPrice(Decimal("1.9"), "RUB")) == "≈\u00a030,40\u00a0₽"
    assert worth(0, third) == worth(None, third) == worth(5, None) == ""


def test_message_says_its_cost_to_those_who_see_money(client: Client, owner: Member) -> None:
    pay(owner, 1, tokens=1000, amount=Decimal("1900.00"))
    message = MessageFactory.create(company=owner.company, state="delivered", channel="sms")
    TransferFactory.create(
        company=owner.company, kind="capture", amount=16, proof="receipt", message_id=message.id
    )
    page = reverse("message-detail", args=[message.public_id])

    assert "≈\u00a030,40\u00a0₽" in client.get(page).content.decode()

    Member.objects.filter(pk=owner.pk).update(role=Member.Role.DEVELOPER)
    assert "₽" not in client.get(page).content.decode()
