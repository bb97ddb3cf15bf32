"""Lines of a bank statement, and what becomes of them."""

from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

from django.utils import timezone

from accounts.models import User
from billing.bank_statements import matching
from billing.bank_statements.matching import StatementLine
from billing.models import BankTransfer, Order, Payment
from billing.orders import payments
from billing.wallet import ledger

ACCOUNT = "40702810110011000430"


def paid(order: Order, **changes: Any) -> StatementLine:
    line = StatementLine(
        source="tbank",
        account=ACCOUNT,
        is_incoming=True,
        document_number="17",
        documented_on=date(2026, 11, 25),
        booked_on=date(2026, 11, 25),
        amount=order.amount,
        currency=order.currency,
        party_name="ООО «Ромашка»",
        party_inn="7800000002",
        party_account="40702810900000000099",
        purpose=f"Оплата по счёту № {order.number} от 25.11.2026. В т.ч. НДС 22 %",
        operation_id="op-1",
    )
    return replace(line, **changes)


def received(line: StatementLine) -> BankTransfer:
    transfer = matching.receive(line)
    assert transfer is not None
    return transfer


def balance(order: Order) -> int:
    return ledger.balance(order.company_id)[0]


def confirm_by_hand(
    order: Order, operator: User, reference: str = "№ 17", amount: Decimal | None = None
) -> Payment | None:
    return payments.confirm_bank_transfer(
        order=order,
        amount=amount or order.amount,
        paid_on=timezone.localdate(),
        reference=reference,
        user=operator,
    )


def returned(order: Order, **changes: Any) -> StatementLine:
    purpose = f"Возврат по счету {order.number}, письмо от 25.11.2026"
    return paid(order, **({"is_incoming": False, "purpose": purpose} | changes))
