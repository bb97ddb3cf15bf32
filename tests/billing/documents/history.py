"""Companies with past months: bought, used and refunded tokens, sealed to the end of October."""

from datetime import date, datetime
from decimal import Decimal
from itertools import count
from typing import Any
from zoneinfo import ZoneInfo

from accounts.models import Company
from billing.models import BillingProfile, Order, Refund, Seller
from billing.seals import sealing
from tests.billing.seals.books import book, charged, wallet_of
from tests.factories import CompanyFactory, OrderFactory, SellerFactory

ZONE = ZoneInfo("Europe/Moscow")
SEPTEMBER = date(2026, 9, 1)
OCTOBER = date(2026, 10, 1)
NOVEMBER = date(2026, 11, 1)
_SERIALS = count(1)


def at(month: int, day: int, hour: int = 12) -> datetime:
    return datetime(2026, month, day, hour, tzinfo=ZONE)


def seller(**fields: Any) -> Seller:
    row: Seller = SellerFactory.create(documents_since=SEPTEMBER, **fields)
    return row


def make_company(**fields: Any) -> Company:
    """A company with an organisation's billing details in Russia."""
    row: Company = CompanyFactory.create(**fields)
    BillingProfile.objects.create(
        company=row, legal_name="ООО «Ромашка»", inn="7800000002", kpp="780001001"
    )
    return row


def buy(company: Company, when: datetime, tokens: int, amount: str, **fields: Any) -> Order:
    """Stores a paid order, its payment and its transfer."""
    order: Order = OrderFactory.create(
        company=company,
        tokens=tokens,
        amount=Decimal(amount),
        state="paid",
        created_at=when,
        paid_at=when,
        finished_at=when,
        vat_rate=fields.pop("vat_rate", Decimal("22.00")),
        **fields,
    )
    order.payments.create(
        gateway=order.gateway,
        payment_id=order.payment_id,
        amount=order.amount,
        currency=order.currency,
        is_credited=True,
        reference=f"{next(_SERIALS)}",
        paid_on=when.date(),
        created_at=when,
    )
    book(company, when, "top_up", tokens, key=order.transfer_key, reason=str(order))
    return order


def refund(order: Order, when: datetime, amount: str, tokens: int) -> Refund:
    payment = order.payments.get()
    row = Refund.objects.create(
        gateway=order.gateway,
        refund_id=f"re_{next(_SERIALS)}",
        payment=payment,
        amount=Decimal(amount),
        currency=order.currency,
        tokens=tokens,
        taken=tokens,
        created_at=when,
    )
    book(order.company, when, "withdraw", tokens, key=row.transfer_key)
    return row


def use(company: Company, when: datetime, tokens: int) -> None:
    """Stores a message that was delivered within the hour."""
    charged(company, when, when, tokens)


def seal(*companies: Company, until: date = date(2026, 11, 3)) -> None:
    for each in companies:
        wallet_of(each)
    sealing.seal_before(until)
