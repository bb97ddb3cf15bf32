"""A made-up quarter of one company: messages with their holds, top-ups, refunds and a dispute, all
of it counted, sealed, closed and with documents.
"""

from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

from django.db import connection
from django.utils import timezone

from accounts.models import Company
from billing.documents import issuing, month_closing
from billing.models import BillingProfile, Order, Payment, Refund, Transfer, Wallet
from billing.seals import sealing
from billing.wallet.period_totals import local_start_of
from storage.months.calendar import next_month, previous_month
from tests.factories import CompanyFactory, SellerFactory, WalletFactory
from tools.demo import history, past_transfers
from tools.demo.senders import Senders

DAY = timedelta(days=1)
VAT = Decimal("22.00")
REFUNDED = 137  # tokens of each month's top-up: no share of it is round
GIFT = 1_000  # tokens
_BOOKED = """
SELECT company_id, kind, amount, key, NULL::uuid AS message_id, NULL::int AS hold,
  '' AS proof, 'refund' AS reason, at AS created_at
FROM unnest(%(companies)s::bigint[], %(kinds)s::text[], %(amounts)s::bigint[], %(keys)s::text[],
  %(times)s::timestamptz[]) AS given(company_id, kind, amount, key, at)
"""


def first_day() -> date:
    """Returns the first day, three whole months before this one."""
    day = timezone.localdate().replace(day=1)
    for _month in range(3):
        day = previous_month(day)
    return day


def fill(messages: int) -> Company:
    """Three whole months and some of this one, not closed yet."""
    company: Company = CompanyFactory.create()
    WalletFactory.create(company=company, available=0)
    BillingProfile.objects.create(
        company=company, legal_name="ООО «Ромашка»", inn="7800000002", kpp="780001001"
    )
    days = (timezone.localdate() - first_day()).days
    history.fill_companies(Senders([company.pk], [None], [None]), messages=messages, days=days)
    Order.objects.filter(company=company).update(vat_rate=VAT)
    _give_money_back(company)
    past_transfers.correct_balances([company.pk])
    return company


def close() -> None:
    """Closes the days and months that are over, as the schedule does."""
    history.recount()
    SellerFactory.create(vat_rate=VAT, documents_since=first_day(), head="Петров Пётр Петрович")
    sealing.seal_before(timezone.now().date())
    month_closing.close()
    issuing.issue()


def months() -> list[tuple[date, date]]:
    """Returns the first and last day of each whole month."""
    firsts = [first_day()]
    for _month in range(3):
        firsts.append(next_month(firsts[-1]))
    return [(first, after - DAY) for first, after in pairwise(firsts)]


def _give_money_back(company: Company) -> None:
    """A grant at the beginning; of each month's first top-up a part, and once by a dispute that is
    won in the month after.
    """
    beginning = local_start_of(first_day())
    booked = [(Transfer.Kind.GRANT, GIFT, "quarter", beginning)]
    for number, (first, last) in enumerate(months()):
        payment = _first_payment(company, first)
        at = local_start_of(last) + timedelta(hours=23)
        won_at = at + 10 * DAY if number == 1 else None
        refund = _refund(payment, at, won_at)
        booked.append((Transfer.Kind.WITHDRAW, REFUNDED, refund.transfer_key, at))
        if won_at:
            booked.append(
                (Transfer.Kind.GRANT, REFUNDED, f"{refund.transfer_key}:returned", won_at)
            )
    _book(company, booked)


def _first_payment(company: Company, month: date) -> Payment:
    orders = Order.objects.filter(
        company=company, state=Order.State.PAID, paid_at__gte=local_start_of(month)
    )
    return orders.order_by("paid_at")[0].payments.get()


def _refund(payment: Payment, at: datetime, won_at: datetime | None) -> Refund:
    order = payment.order
    assert order is not None
    return Refund.objects.create(
        gateway=payment.gateway,
        refund_id=f"quarter-{at:%Y-%m}",
        payment=payment,
        amount=(payment.amount * REFUNDED / order.tokens).quantize(Decimal("0.01")),
        currency=payment.currency,
        tokens=REFUNDED,
        taken=REFUNDED,
        created_at=at,
        returned_at=won_at,
    )


def _book(company: Company, booked: list[tuple[Any, int, str, datetime]]) -> None:
    kinds, amounts, keys, times = zip(*booked, strict=True)
    params = {
        "companies": [company.pk] * len(booked),
        "kinds": [str(kind) for kind in kinds],
        "amounts": list(amounts),
        "keys": list(keys),
        "times": list(times),
    }
    with connection.cursor() as cursor:
        past_transfers.book(cursor, _BOOKED, params)
    assert Wallet.objects.get(company=company).available >= 0
