"""Closes months: each company's balance, receipts and usage, and the lots of tokens that paid for
it.

Months are in the service's time zone. A month is closed once its days are sealed, so that no
further transfer can appear in it; a company that cannot be sealed waits without holding up the
rest. Each company's month is a transaction, written once: the next run continues a killed run.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import F, Max, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.jobs import Job
from billing.documents import lots, prepaid
from billing.documents.lots import Charge, TooFewTokensError, Withdrawal
from billing.models import ClosedMonth, Lot, Order, Refund, Seal, SealedDay, Seller, Transfer
from billing.seals.sealing import OccupiedError, take_lock
from billing.wallet import archived
from billing.wallet.period_totals import (
    Totals,
    balances_at,
    day_of,
    external_transfers,
    local_start_of,
    sums_of,
)
from storage.months.calendar import last_day, month_of, next_month, previous_month
from storage.statements import sql_files
from storage.statements.queries import fetch_column, fetch_value

log = structlog.get_logger()
JOB = Job("months", _("closing of months"))
LOCK = 0x6B76_636D  # an advisory lock: a second closing process exits
BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)

_SQL = sql_files.read_several("billing/documents/month_closing.sql")


def close() -> int:
    """Closes every past and sealed month; returns the number over all companies."""
    newest = newest_closable()
    seller = Seller.objects.first()
    if newest is None or seller is None or seller.documents_since is None:
        return 0
    since = seller.documents_since.replace(day=1)
    try:
        return sum(JOB.each(_due(newest), lambda company: _close_company(company, since, newest)))
    except OccupiedError:
        return 0


def newest_closable() -> date | None:
    """The last month that is sealed to its end, in UTC and in the service's time zone."""
    # Also for companies sealed further than the slowest one: `due` checks each.
    days: list[date | None] = [SealedDay.last(), Seal.objects.aggregate(last=Max("day"))["last"]]
    sealed = max((day for day in days if day is not None), default=None)
    if sealed is None:
        return None
    month = sealed.replace(day=1)
    while not _is_sealed(month, sealed):
        month = previous_month(month)
    return month


def _is_sealed(month: date, sealed: date) -> bool:
    last_moment = local_start_of(next_month(month)) - timedelta(microseconds=1)
    return sealed >= max(last_day(month), last_moment.astimezone(UTC).date())


def _due(newest: date) -> list[int]:
    return fetch_column(_SQL["due"], {"month": newest, "end": local_start_of(next_month(newest))})


def _close_company(company_id: int, since: date, newest: date) -> int:
    closed = 0
    for month in _open_months(company_id, since, newest):
        if not _close(company_id, month):
            break
        closed += 1
    return closed


def _open_months(company_id: int, since: date, newest: date) -> Iterator[date]:
    last = ClosedMonth.objects.filter(company=company_id).order_by("month").last()
    if last:
        month = next_month(last.month)
    else:
        first: datetime = fetch_value(_SQL["first_transfer"], [company_id])
        month = max(since, month_of(first, timezone.get_default_timezone()))
        if opening := archived.opening(company_id):
            # A month with known balances: its charges are all in the database.
            month = max(month, next_month(day_of(opening.at)))
    while month <= newest:
        yield month
        month = next_month(month)


@transaction.atomic
def _close(company_id: int, month: date) -> bool:
    """Closes a month; False if the books do not add up: `reconcile` says where."""
    take_lock(LOCK)
    start, end = local_start_of(month), local_start_of(next_month(month))
    previous = ClosedMonth.objects.filter(company=company_id).order_by("month").last()
    if previous and previous.month >= month:
        return True  # by another process in the meantime
    totals = _totals(company_id, start, end, previous)
    if totals is None:
        log.error("month_not_closed", company=company_id, month=f"{month:%Y-%m}")
        return False
    try:
        opening = _prepaid_opening(company_id, start, totals.opening, previous)
        charges = _update_lots(company_id, start, end, totals.spent)
    except TooFewTokensError:
        log.exception("month_not_closed", company=company_id, month=f"{month:%Y-%m}")
        transaction.set_rollback(True)
        return False
    closed = ClosedMonth(
        company_id=company_id,
        month=month,
        **totals._asdict(),
        charges=[_stored_charge(charge) for charge in charges],
        is_due=any(charge.amount for charge in charges),
        head=_seal_head(company_id, next_month(month)),
    )
    received = prepaid.add(opening, prepaid.entries(company_id, start, end))
    closed.money = _money(opening, prepaid.subtract(received, prepaid.charged_in(closed)))
    closed.save(force_insert=True)
    return True


def _money(opening: prepaid.Sums, closing: prepaid.Sums) -> dict[str, dict[str, str]]:
    """The company's prepaid and unused money, by currency."""
    return {
        currency: {
            "opening": str(opening.get(currency, Decimal("0.00"))),
            "closing": str(closing[currency]),
        }
        for currency in sorted(closing)
    }


def _totals(
    company_id: int, start: datetime, end: datetime, previous: ClosedMonth | None
) -> Totals | None:
    """Counts the charges one by one; None if the balances disagree."""
    opening, closing = balances_at(company_id, [start, end])
    spent: int = fetch_value(_SQL["spent"], {"company": company_id, "start": start, "end": end})
    bought, granted, withdrawn = sums_of(external_transfers(company_id, start, end))
    totals = Totals(opening, bought, granted, withdrawn, spent, closing)
    follows = previous is None or previous.closing == opening
    adds_up = closing == opening + bought + granted - withdrawn - spent
    return totals if follows and adds_up else None


def _prepaid_opening(
    company_id: int, start: datetime, balance: int, previous: ClosedMonth | None
) -> prepaid.Sums:
    """The closing balance of the month before; for the first month it is computed.

    It is then the sum of all payments without the worth of the tokens used before.
    """
    if previous is not None:
        return {currency: Decimal(money["closing"]) for currency, money in previous.money.items()}
    rows = external_transfers(company_id, BEGINNING, start)
    bought, granted, withdrawn = sums_of(rows)
    received = bought + granted - withdrawn
    charges = _update_lots(company_id, BEGINNING, start, received - balance)
    paid = prepaid.add({}, prepaid.entries(company_id, BEGINNING, start))
    charged = prepaid.total((charge.lot.currency, charge.amount) for charge in charges)
    return prepaid.subtract(paid, charged)


def _update_lots(company_id: int, start: datetime, end: datetime, spent: int) -> list[Charge]:
    """Stores the receipts and the lots' remainders at the end; returns the charges."""
    rows = external_transfers(company_id, start, end)
    new, withdrawals = _movements(company_id, rows)
    Lot.objects.bulk_create(new)
    refunded = {order_id for _tokens, order_id in withdrawals if order_id}
    is_needed = Q(tokens__gt=F("used") + F("withdrawn")) | Q(order__in=refunded)
    if any(tokens < 0 for tokens, _order_id in withdrawals):
        is_needed |= Q(withdrawn__gt=0)
    stock = list(Lot.objects.filter(is_needed, company=company_id).order_by("received_at", "pk"))
    not_returned = Counter[UUID]()
    for tokens, order_id in withdrawals:  # by time: what a failed refund returned is taken again
        if tokens < 0 and order_id:
            not_returned.update(lots.restore_withdrawn(stock, {order_id: -tokens}))
        else:
            lots.withdraw(stock, [(tokens, order_id)])
    stock += [
        Lot.objects.create(
            company_id=company_id,
            transfer_key=f"returned:{order_id.hex}:{start:%Y-%m}",
            received_at=start,
            tokens=tokens,
        )
        for order_id, tokens in not_returned.items()
    ]
    charges = lots.use(stock, spent)
    Lot.objects.bulk_update(stock, ["used", "withdrawn"])
    return charges


def _movements(company_id: int, rows: Sequence[Transfer]) -> tuple[list[Lot], list[Withdrawal]]:
    """New lots, and withdrawals by time. Tokens that a won dispute returns are negative."""
    orders = _orders(company_id, rows)
    refunds = _orders_of_refunds(rows)
    new: list[Lot] = []
    withdrawals: list[Withdrawal] = []
    for row in rows:
        key = str(row.key)
        refunded_order = refunds.get(key.removesuffix(":returned"))
        if row.kind == Transfer.Kind.WITHDRAW:
            withdrawals.append((row.amount, refunded_order))
        elif key.endswith(":returned") and refunded_order:
            withdrawals.append((-row.amount, refunded_order))
        else:
            new.append(_new_lot(row, orders.get(key)))
    return new, withdrawals


def _orders(company_id: int, rows: Sequence[Transfer]) -> dict[str, Order]:
    """Orders by the key of the transfer that credits them."""
    keys = [row.key for row in rows if row.kind == Transfer.Kind.TOP_UP and row.key]
    ids = [UUID(hex=key.partition(":")[2]) for key in keys if key.startswith("top_up:")]
    orders = Order.objects.filter(company=company_id, pk__in=ids).prefetch_related("payments")
    return {order.transfer_key: order for order in orders}


def _orders_of_refunds(rows: Sequence[Transfer]) -> dict[str, UUID]:
    keys = {str(row.key).removesuffix(":returned") for row in rows if row.key}
    ids = [key.rpartition(":")[2] for key in keys if key.startswith("refund:")]
    refunds = Refund.objects.filter(
        pk__in=[int(refund_id) for refund_id in ids if refund_id.isdigit()]
    )
    return {
        refund.transfer_key: refund.payment.order_id
        for refund in refunds.select_related("payment")
        if refund.payment and refund.payment.order_id
    }


def _new_lot(row: Transfer, order: Order | None) -> Lot:
    lot = Lot(
        company_id=row.company_id,
        order=order,
        transfer_key=row.key or f"transfer:{row.pk}",
        received_at=row.created_at,
        tokens=row.amount,
    )
    if order is not None:
        paid = next((payment for payment in order.payments.all() if payment.is_credited), None)
        lot.amount = paid.amount if paid else order.amount
        lot.currency = paid.currency if paid else order.currency
        lot.vat_rate = order.vat_rate
    return lot


def _stored_charge(charge: Charge) -> dict[str, object]:
    lot = charge.lot
    return {
        "order": lot.order_id.hex if lot.order_id else "",
        "tokens": charge.tokens,
        "amount": str(charge.amount),
        "currency": lot.currency,
        "vat_rate": str(lot.vat_rate) if lot.vat_rate is not None else None,
    }


def _seal_head(company_id: int, until: date) -> str:
    seals = Seal.objects.filter(company=company_id, day__lt=until).order_by("day")
    return seals.values_list("head", flat=True).last() or ""
