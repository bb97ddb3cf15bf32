"""Matches a line of a statement, from any source, with the order that it pays.

An exact match credits once: the purpose names only one of our invoices, neither paid nor cancelled,
amount and currency match, and the payer's INN is the buyer's. A transfer by an SBP link names the
top-up, and needs no INN: the bank wrote it.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal

from django.db import transaction
from django.db.models import Q, QuerySet

from billing.gateways.base import PaymentEvent, PaymentState, RefundEvent
from billing.gateways.invoice import Invoice
from billing.gateways.tbank import TBank
from billing.models import BankTransfer, Order, Payment
from billing.orders import payments, refunds
from catalogue.ids import parse_id
from parsing.characters import is_line, is_text, one_line

MAX_AMOUNT_DIGITS = 14  # like the column
YEARS = range(2000, 2100)  # 1C's empty day is in the year 1
# ISO 4217, of currencies in which banks keep accounts. Accounts say 810 for roubles.
_CODES = (
    "RUB643 RUB810 USD840 EUR978 CNY156 KZT398 BYN933 AED784 AMD051 AUD036 AZN944 BRL986 CAD124 "
    "CHF756 CZK203 DKK208 EGP818 GBP826 GEL981 HKD344 HUF348 IDR360 ILS376 INR356 IRR364 JPY392 "
    "KGS417 KRW410 MDL498 MNT496 NOK578 NZD554 PLN985 QAR634 RON946 RSD941 SAR682 SEK752 SGD702 "
    "THB764 TJS972 TMT934 TRY949 UAH980 UZS860 VND704 ZAR710"
)
CURRENCIES = {word[3:]: word[:3] for word in _CODES.split()}


def currency_of(code: str) -> str:
    """The currency by its digits, the sixth to eighth of an account in Russia. Raises ValueError
    for others: no refund and no document could name it.
    """
    if code not in CURRENCIES:
        raise ValueError(code)
    return CURRENCIES[code]


@dataclass(frozen=True, slots=True)
class StatementLine:
    source: str
    account: str  # our account
    is_incoming: bool
    document_number: str
    documented_on: date  # the payment order's own date
    booked_on: date
    amount: Decimal
    currency: str
    party_name: str  # the payer of incoming money, the payee of outgoing money
    party_inn: str
    party_account: str
    purpose: str
    operation_id: str = ""
    occurrence: int = 1  # number among the lines whose `key` has otherwise the same parts

    def __post_init__(self) -> None:
        """Raises ValueError for values that no bank writes: with money nothing is guessed."""
        texts = (self.account, self.document_number, self.party_name, self.party_inn)
        if not all(map(is_clean, (*texts, self.party_account, self.purpose, self.operation_id))):
            raise ValueError("control characters")
        if not (self.amount.is_finite() and self.amount.adjusted() < MAX_AMOUNT_DIGITS - 2):
            raise ValueError("not an amount")
        if not is_line(self.document_number):  # the payment's reference
            raise ValueError("not a number")
        if not all(day.year in YEARS for day in (self.documented_on, self.booked_on)):
            raise ValueError("not a day in these years")

    @property
    def key(self) -> str:
        """Identifies a transfer in every source.

        The bank's id of the operation is not used: T-Bank may change it overnight, and files have
        none.
        """
        parts = (
            self.account,
            "in" if self.is_incoming else "out",
            self.document_number.lstrip("0") or self.operation_id,
            self.documented_on.isoformat(),
            self.party_account,
            f"{self.amount:.2f}",
            "".join(one_line(self.purpose).split()).casefold()[:100],
            str(self.occurrence),
        )
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def is_clean(text: str) -> bool:
    """Whether this is one line without control characters. `is_line` would also refuse soft
    hyphens, which people paste.
    """
    return is_text(text) and not {"\t", "\r", "\n"} & set(text)


def numbered(lines: Iterable[StatementLine]) -> Iterator[StatementLine]:
    """Numbers equal lines of one statement, which are different transfers."""
    occurrences: Counter[str] = Counter()
    for line in lines:
        occurrences[line.key] += 1
        yield replace(line, occurrence=occurrences[line.key])


Problem = BankTransfer.Problem
State = BankTransfer.State
# 2026-17, but not a date: 2026-11-25.
NUMBER = re.compile(r"(?<![\d.-])(20\d\d)\s?[-–—]\s?0*(\d{1,9})(?!\d|[-–—.]\d)")
# «счёт № 17 от 25.11.2026»: payers leave out the year.
SHORT_NUMBER = re.compile(
    r"сч[её]т\w*\s*(?:на\s+оплату\s*)?(?:№|N|No\.?|номер)?\s*0*(\d{1,9})(?!\d|-\d)"
    r"(?:\s*от\s*\d{1,2}[./]\d{1,2}[./](20\d\d|\d\d)(?!\d))?",
    re.IGNORECASE,
)
TOP_UP = re.compile(r"top_[0-9a-f]{32}", re.IGNORECASE)
REFUND = re.compile(r"возврат|refund", re.IGNORECASE)
MAX_NUMBERS = 20  # candidates in one purpose


def receive(line: StatementLine) -> BankTransfer | None:
    """Stores the transfer and credits its order in one commit; a repeat changes nothing.

    Returns None for outgoing money other than our refunds, which is not stored.
    """
    orders = _named_orders(line)
    if not line.is_incoming and not (orders and REFUND.search(line.purpose)):
        return None
    with transaction.atomic():
        transfer, is_new = BankTransfer.objects.get_or_create(
            key=line.key, defaults=_fields(line) | {"state": State.REVIEW}
        )
        if is_new:
            _match(transfer, orders)
            transfer.save(update_fields=["state", "problem", "order", "payment"])
    return transfer


def _fields(line: StatementLine) -> dict[str, object]:
    way = BankTransfer.Direction.INCOMING if line.is_incoming else BankTransfer.Direction.OUTGOING
    shared = ("source", "account", "document_number", "booked_on", "amount", "currency")
    names = ("party_name", "party_inn", "party_account", "purpose")
    return {"direction": way} | {name: getattr(line, name) for name in (*shared, *names)}


def _named_orders(line: StatementLine) -> list[Order]:
    condition = Q(pk=None)
    for order_id in map(str.lower, TOP_UP.findall(line.purpose)[:MAX_NUMBERS]):
        condition |= Q(pk=parse_id("top", order_id))
    numbers = NUMBER.findall(line.purpose)[:MAX_NUMBERS] or _short_numbers(line)
    for year, number in numbers:
        condition |= Q(invoice_year=int(year), invoice_number=min(int(number), 2**31 - 1))
    return list(Order.objects.filter(condition).order_by("pk")[:MAX_NUMBERS])


def _short_numbers(line: StatementLine) -> list[tuple[str, str]]:
    numbers = SHORT_NUMBER.findall(line.purpose)[:MAX_NUMBERS]
    return [
        (f"20{year[-2:]}" if year else str(line.booked_on.year), number) for number, year in numbers
    ]


def _match(transfer: BankTransfer, orders: list[Order]) -> None:
    is_incoming = transfer.direction == BankTransfer.Direction.INCOMING
    if len(orders) == 1:
        refunds.lock_gateway(orders[0].gateway)  # before the order, like for webhooks
        transfer.order = payments.lock(orders[0].pk)
        pay = _pay if is_incoming else _refund
        transfer.problem = pay(transfer, transfer.order)
    else:
        refunds.lock_gateway(Invoice.name)  # like a confirmation by hand
        transfer.payment = _confirmed_payment(transfer, Q(pk=None)) if is_incoming else None
        transfer.order = transfer.payment.order if transfer.payment else None
        if transfer.payment is None:
            transfer.problem = Problem.SEVERAL if orders else Problem.UNKNOWN_ORDER
    if not transfer.problem:
        transfer.state = State.MATCHED


def _is_by_link(order: Order) -> bool:
    return order.gateway == TBank.name and bool(order.payment_id)


def _pay(transfer: BankTransfer, order: Order) -> str:
    """Credits the order and sets the payment, or returns the problem that prevents it."""
    is_by_link = _is_by_link(order)
    recorded = _recorded_payment(transfer, order, is_by_link=is_by_link)
    if recorded is not None and recorded.order is not None:
        transfer.order = order = recorded.order
    elif order.state == Order.State.PAID:
        return Problem.SECOND
    if recorded is not None and (not recorded.is_credited or recorded.amount == transfer.amount):
        # The operator gets one task for both records, even if the payment has a problem.
        transfer.payment = recorded
        return ""
    if differs := _differs(transfer, order):
        return differs
    if recorded is not None:
        transfer.payment = recorded
        return ""
    if not is_by_link and (doubt := _doubt(transfer, order)):
        return doubt
    # Stored under the link's own id, so that the bank's webhook of the same payment is a repeat.
    payment_id = order.payment_id if is_by_link else transfer.payment_key
    transfer.payment = _credit(transfer, order, payment_id)
    return ""


def _differs(transfer: BankTransfer, order: Order) -> str:
    if transfer.currency != order.currency:
        return Problem.WRONG_CURRENCY
    return "" if transfer.amount == order.amount else Problem.WRONG_AMOUNT


def _doubt(transfer: BankTransfer, order: Order) -> str:
    """The problem of a transfer whose purpose the payer wrote; empty if there is none.

    The purpose of a payment by a link is written by the bank, and is not doubted.
    """
    if order.state == Order.State.CANCELED:
        return Problem.CANCELED
    return "" if is_buyer(transfer, order) else Problem.WRONG_PAYER


def _credit(transfer: BankTransfer, order: Order, payment_id: str) -> Payment | None:
    event = PaymentEvent(
        payment_id=payment_id,
        order_id=order.pk.hex,
        amount=transfer.amount,
        currency=transfer.currency,
        state=PaymentState.PAID,
        reference=transfer.document_number,
    )
    payment = payments.apply_event(order.gateway, event)
    if payment is not None:
        payment.paid_on = transfer.booked_on
        payment.save(update_fields=["paid_on"])
    return payment


def _recorded_payment(transfer: BankTransfer, order: Order, *, is_by_link: bool) -> Payment | None:
    """The payment already recorded for this transfer, by a webhook or a confirmation by hand."""
    if is_by_link:
        return _unmatched_payments().filter(order=order, payment_id=order.payment_id).first()
    of_company = Q(order__company=order.company_id, gateway=order.gateway)
    return _confirmed_payment(transfer, Q(order=order) | of_company & _is_same(transfer))


def _unmatched_payments() -> QuerySet[Payment]:
    """Payments that no incoming line of a statement has been matched with."""
    is_incoming = Q(bank_transfers__direction=BankTransfer.Direction.INCOMING)
    return Payment.objects.select_related("order").exclude(is_incoming)


def _is_same(transfer: BankTransfer) -> Q:
    days = payments.days_of_number(transfer.booked_on)
    return Q(amount=transfer.amount, currency=transfer.currency, paid_on__range=days)


def _confirmed_payment(transfer: BankTransfer, condition: Q) -> Payment | None:
    """The payment that the operator confirmed by hand with this transfer's number.

    It is credited or waits, and meets the condition or is the same payer's: money counts once,
    whichever order the payer names.
    """
    number = payments.bank_reference_number(transfer.document_number)
    if transfer.party_inn:
        condition |= Q(order__parties__buyer__inn=transfer.party_inn) & _is_same(transfer)
    waiting = Q(  # for the operator's decision
        is_credited=False, settled_at=None, amount=transfer.amount, currency=transfer.currency
    )
    confirmed = _unmatched_payments().filter(condition, Q(is_credited=True) | waiting)
    for payment in confirmed.exclude(confirmed_by=None).order_by("pk") if number else ():
        if payments.bank_reference_number(payment.reference) == number:
            return payment
    return None


def is_buyer(transfer: BankTransfer, order: Order) -> bool:
    inn = str(order.parties.get("buyer", {}).get("inn") or "")
    return bool(inn) and inn == transfer.party_inn


def _refund(transfer: BankTransfer, order: Order) -> str:
    """Takes the tokens back, or returns the problem that prevents it.

    No other transfer, assigned to the order or to none, may be the one that was refunded.
    """
    others = order.bank_transfers.filter(direction=BankTransfer.Direction.INCOMING)
    unnamed = BankTransfer.objects.filter(
        direction=BankTransfer.Direction.INCOMING,
        order=None,
        party_inn=transfer.party_inn,
        state__in=(State.REVIEW, State.RETURNED),
    )
    paid = order.payments.filter(is_credited=True).first()
    is_certain = not others.exclude(state=State.MATCHED).exists() and others.count() <= 1
    is_certain &= _is_by_link(order) or is_buyer(transfer, order)
    is_certain &= paid is None or not order.payments.filter(is_credited=False).exists()
    is_certain &= not unnamed.exists()
    if not is_certain or transfer.currency != order.currency or transfer.amount > order.amount:
        return Problem.REFUND
    if paid is None and not order.payment_id:
        return Problem.REFUND  # an invoice that nobody has paid
    transfer.payment = paid
    refund(transfer, paid.payment_id if paid else order.payment_id)
    return ""


def refund(transfer: BankTransfer, payment_id: str) -> None:
    assert transfer.order is not None  # noqa: S101 - its callers have found it
    event = RefundEvent(transfer.payment_key, payment_id, transfer.amount, transfer.currency)
    refunds.apply_event(transfer.order.gateway, event)
