"""Closed months agree with the ledger, and a change of one is a breach."""

from collections.abc import Callable
from decimal import Decimal

import pytest
from django.db.models import F

from accounts.models import Company
from billing.documents import issuing, month_closing
from billing.models import ClosedMonth, Document, Lot
from channels import reconciliation
from tests.billing.documents.history import OCTOBER, at, buy, make_company, seal, seller, use

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def one() -> Company:
    seller()
    row = make_company()
    buy(row, at(9, 3), 100, "122.00")
    use(row, at(9, 20), 50)
    use(row, at(10, 20), 20)
    seal(row)
    month_closing.close()
    issuing.issue()
    return row


def breached_checks() -> set[str]:
    ours = ("closed month", "lots", "documents")
    return {each.check for each in reconciliation.breaches() if each.check.startswith(ours)}


def test_closed_months_agree(one: Company) -> None:
    assert breached_checks() == set()


def shift_a_month() -> None:
    ClosedMonth.objects.filter(month=OCTOBER).update(
        opening=F("opening") + 1, closing=F("closing") + 1
    )


def charge_more() -> None:
    for closed in ClosedMonth.objects.filter(month=OCTOBER):
        closed.charges[0]["tokens"] += 1
        closed.save()


def use_a_lot() -> None:
    Lot.objects.update(used=F("used") + 1)


def raise_a_document() -> None:
    Document.objects.filter(month=OCTOBER).update(amount=F("amount") + Decimal("0.01"))


@pytest.mark.parametrize(
    ("harm", "check"),
    [
        (shift_a_month, "closed month differs from its charges or the month before"),
        (charge_more, "closed month differs from its charges or the month before"),
        (use_a_lot, "lots of tokens differ from the last closed month"),
        (raise_a_document, "documents differ from their closed month"),
    ],
)
def test_changed_document_or_month_is_a_breach(
    one: Company, harm: Callable[[], None], check: str
) -> None:
    harm()

    assert check in breached_checks()
