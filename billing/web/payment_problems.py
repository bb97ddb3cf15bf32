"""The cabinet's texts about payments that do not fit their top-up."""

from dataclasses import dataclass
from decimal import Decimal

from django.utils.translation import gettext as _

from billing.bank_statements import matching
from billing.models import BankTransfer, Order, Payment
from billing.wallet.amounts import money

Problem = Payment.Problem
Resolution = Payment.Resolution
_WRONG = {Problem.WRONG_AMOUNT, Problem.WRONG_CURRENCY}


@dataclass(frozen=True, slots=True)
class PaymentProblem:
    text: str
    note: str = ""  # the operator's note
    is_waiting: bool = False  # waits for the operator: nobody should pay in the meantime


def of_order(order: Order) -> list[PaymentProblem]:
    payments = order.payments.exclude(problem="").order_by("pk")
    transfers = order.bank_transfers.filter(direction=BankTransfer.Direction.INCOMING, payment=None)
    transfers = transfers.exclude(state=BankTransfer.State.DISMISSED)
    received = [_of_payment(order, payment) for payment in payments]
    transfer_rows = [transfer for transfer in transfers.order_by("pk") if _is_of(order, transfer)]
    return received + [_of_transfer(order, row) for row in transfer_rows]


def _is_of(order: Order, transfer: BankTransfer) -> bool:
    """Whether the order counts the transfer, as `IS_OF_ORDER` says.

    A stranger's transfer must not keep anybody from paying.
    """
    is_whole = (transfer.amount, transfer.currency) == (order.amount, order.currency)
    return is_whole or matching.is_buyer(transfer, order)


def _of_payment(order: Order, payment: Payment) -> PaymentProblem:
    amount = money(payment.amount, payment.currency)
    if payment.problem == Problem.LATE:
        return PaymentProblem(_("The payment arrived after the top-up had ended, and is credited."))
    if payment.settled_at is None:
        return _unsettled_problem(order, payment.problem, payment.amount, payment.currency)
    if payment.is_credited:
        return PaymentProblem(
            _("%(sum)s arrived; the tokens are credited.") % {"sum": amount}, payment.note
        )
    if payment.resolution == Resolution.RETURNED:
        return PaymentProblem(_("%(sum)s goes back to the payer.") % {"sum": amount}, payment.note)
    text = _("%(sum)s arrived; the operator has settled it.") % {"sum": amount}
    return PaymentProblem(text, payment.note)


def _of_transfer(order: Order, transfer: BankTransfer) -> PaymentProblem:
    if transfer.state == BankTransfer.State.REVIEW:
        return _unsettled_problem(order, transfer.problem, transfer.amount, transfer.currency)
    amount = money(transfer.amount, transfer.currency)
    return PaymentProblem(_("%(sum)s goes back to the payer.") % {"sum": amount})


def _unsettled_problem(
    order: Order, problem: str, amount: Decimal, currency: str
) -> PaymentProblem:
    values = {"sum": money(amount, currency), "due": money(order.amount, order.currency)}
    if problem in _WRONG:
        text = _("%(sum)s arrived instead of %(due)s. We are looking into it, do not pay again.")
    elif problem == Problem.SECOND:
        text = _("It was paid a second time: %(sum)s. We are looking into it.")
    else:
        text = _("A transfer of %(sum)s arrived. We are looking into it, do not pay again.")
    return PaymentProblem(text % values, is_waiting=True)
