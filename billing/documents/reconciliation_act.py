"""The act of reconciliation: payments and closing documents of a period, and the debt of either
party.

A row for each currency's payment, refund and closed month, by day.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from django.utils.formats import date_format
from django.utils.translation import gettext as _

from accounts.models import Company
from billing.documents import prepaid
from billing.models import BillingProfile, ClosedMonth, Document, Seller
from billing.orders import invoices
from billing.orders.invoices import Party
from billing.wallet.period_totals import local_start_of
from storage.months.calendar import last_day

DAY = timedelta(days=1)
NOTHING = Decimal("0.00")


@dataclass(frozen=True, slots=True)
class Row:
    """An entry of the seller's books: charges are debits, payments credits."""

    currency: str
    day: date
    title: str
    debit: Decimal = NOTHING
    credit: Decimal = NOTHING


@dataclass(frozen=True, slots=True)
class Account:
    """The account in one currency. Balances are positive if the seller owes: the buyer has paid in
    advance.
    """

    currency: str
    opening: Decimal
    rows: list[Row]

    @property
    def debit(self) -> Decimal:
        return sum((row.debit for row in self.rows), NOTHING)

    @property
    def credit(self) -> Decimal:
        return sum((row.credit for row in self.rows), NOTHING)

    @property
    def closing(self) -> Decimal:
        return self.opening + self.credit - self.debit


@dataclass(frozen=True, slots=True)
class ReconciliationAct:
    company: Company
    first: date
    last: date
    seller: Party
    buyer: Party
    accounts: list[Account]


def first_day(company: Company) -> date | None:
    """The first day with known money; None if no month is closed yet."""
    months = ClosedMonth.objects.filter(company=company).order_by("month")
    return months.values_list("month", flat=True).first()


def make(company: Company, first: date, last: date) -> ReconciliationAct:
    start, end = local_start_of(first), local_start_of(last + DAY)
    opening = prepaid.opening(company.pk, start)
    rows = [*_payments(company, first, last), *_charges(company, first, last)]
    currencies = sorted({*opening, *(row.currency for row in rows)})
    parties = invoices.snapshot_parties(Seller.objects.first(), BillingProfile.for_company(company))
    assert start < end  # noqa: S101 - the form says so
    accounts = [
        Account(
            currency,
            opening.get(currency, NOTHING),
            sorted((row for row in rows if row.currency == currency), key=lambda row: row.day),
        )
        for currency in currencies
    ]
    return ReconciliationAct(company, first, last, parties["seller"], parties["buyer"], accounts)


def _payments(company: Company, first: date, last: date) -> Iterator[Row]:
    for entry in prepaid.entries(company.pk, local_start_of(first), local_start_of(last + DAY)):
        debit, credit = max(-entry.amount, NOTHING), max(entry.amount, NOTHING)
        yield Row(entry.currency, entry.day, _title(entry), debit, credit)


def _title(entry: prepaid.Entry) -> str:
    if not entry.is_refund:
        values = {"order": entry.title, "reference": entry.reference}
        return _("Payment of %(order)s (%(reference)s)") % values
    if entry.amount > 0:
        return _("Refund of %(order)s cancelled") % {"order": entry.title}
    return _("Refund of %(order)s") % {"order": entry.title}


def _charges(company: Company, first: date, last: date) -> Iterator[Row]:
    """The charges of months that end in the period."""
    closed = ClosedMonth.objects.filter(company=company, month__gte=first.replace(day=1))
    documents = {
        (document.month, document.currency): document.number
        for document in Document.objects.filter(company=company, kind=Document.Kind.CLOSING)
    }
    for month in closed.order_by("month"):
        day = last_day(month.month)
        for currency, amount in prepaid.charged_in(month).items() if first <= day <= last else ():
            if amount:
                number = documents.get((month.month, currency), "")
                yield Row(currency, day, _charge_title(month.month, number), amount)


def _charge_title(month: date, number: str) -> str:
    name = date_format(month, "F Y")
    if number:
        return _("Services of %(month)s, document %(number)s") % {"month": name, "number": number}
    return _("Services of %(month)s") % {"month": name}
