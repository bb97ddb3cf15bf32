"""Money that companies paid in advance: payments and refunds by the day of booking."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from billing.models import ClosedMonth, Payment, Refund
from billing.wallet.period_totals import day_of, local_start_of
from storage.months.calendar import next_month

Sums = dict[str, Decimal]  # by currency


@dataclass(frozen=True, slots=True)
class Entry:
    """A payment, or a refund as a negative payment."""

    at: datetime
    amount: Decimal
    currency: str
    title: str  # of the order: its invoice number, or its id
    reference: str  # assigned by the bank or the provider
    is_refund: bool = False

    @property
    def day(self) -> date:
        return day_of(self.at)


def entries(company_id: int, start: datetime, end: datetime) -> list[Entry]:
    """Payments and refunds, oldest first. A won dispute is a payment again.

    No refund counts before its payment, which may be credited later, and so in another month.
    """
    entries_found = [*_payments(company_id, start, end), *_refunds(company_id, start, end)]
    return sorted(entries_found, key=lambda entry: entry.at)


def _payments(company_id: int, start: datetime, end: datetime) -> Iterator[Entry]:
    rows = Payment.objects.filter(
        is_credited=True,
        order__company=company_id,
        order__paid_at__gte=start,
        order__paid_at__lt=end,
    )
    for payment in rows.select_related("order"):
        order = payment.order
        assert order is not None and order.paid_at is not None  # noqa: S101, PT018 - filtered
        reference = payment.reference or payment.payment_id
        yield Entry(order.paid_at, payment.amount, payment.currency, str(order), reference)


def _refunds(company_id: int, start: datetime, end: datetime) -> Iterator[Entry]:
    rows = Refund.objects.filter(payment__is_credited=True, payment__order__company=company_id)
    for refund in rows.select_related("payment__order").order_by("pk"):
        order = refund.payment.order if refund.payment else None
        assert order is not None and order.paid_at is not None  # noqa: S101, PT018 - filtered
        for moment, sign in ((refund.created_at, -1), (refund.returned_at, 1)):
            at = max(moment, order.paid_at) if moment else None
            if at is not None and start <= at < end:
                amount = sign * refund.amount
                name = refund.refund_id
                yield Entry(at, amount, refund.currency, str(order), name, is_refund=True)


def total(rows: Iterable[tuple[str, Decimal]]) -> Sums:
    """Sums of (currency, amount); entries without a currency were granted, and cost nothing."""
    sums: Sums = {}
    for currency, amount in rows:
        if currency:
            sums[currency] = sums.get(currency, Decimal(0)) + amount
    return sums


def add(sums: Sums, rows: Iterable[Entry]) -> Sums:
    return total([*sums.items(), *((entry.currency, entry.amount) for entry in rows)])


def subtract(sums: Sums, charged: Sums) -> Sums:
    return total([*sums.items(), *((currency, -amount) for currency, amount in charged.items())])


def charged_in(*months: ClosedMonth) -> Sums:
    charges = [charge for closed in months for charge in closed.charges]
    return total((charge["currency"], Decimal(charge["amount"])) for charge in charges)


def opening(company_id: int, at: datetime) -> Sums:
    """The prepaid and uncharged sums at a moment; charges are booked at the month's end.

    Nothing is known before the first closed month: the result is then for its beginning.
    """
    months = ClosedMonth.objects.filter(company=company_id).order_by("month")
    day = day_of(at)
    last = months.filter(month__lt=day.replace(day=1)).last()
    first = last or months.first()
    if first is None:
        return {}
    name = "closing" if last else "opening"
    since = local_start_of(next_month(first.month) if last else first.month)
    sums = {currency: Decimal(money[name]) for currency, money in first.money.items()}
    return add(sums, entries(company_id, since, at)) if since < at else sums
