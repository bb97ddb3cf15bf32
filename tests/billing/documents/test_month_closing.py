"""Months are closed once, exactly, and only when nothing more of them can appear."""

from datetime import date, timedelta
from decimal import Decimal

import pytest

from billing.documents import month_closing, reconciliation_act
from billing.models import ClosedMonth, Lot, Refund, Transfer
from tests.api.races import at_once
from tests.billing.documents.history import (
    NOVEMBER,
    OCTOBER,
    SEPTEMBER,
    at,
    buy,
    make_company,
    refund,
    seal,
    seller,
    use,
)
from tests.billing.seals.books import book, by_force, charge_rows
from tests.factories import create_transfers

pytestmark = pytest.mark.django_db


def rows(month: date) -> list[tuple[int, ...]]:
    return list(
        ClosedMonth.objects.filter(month=month).values_list(
            "opening", "bought", "granted", "withdrawn", "spent", "closing"
        )
    )


def test_two_closed_months_split_charges_by_lot() -> None:
    seller()
    company = make_company()
    first = buy(company, at(9, 3), 100, "200.00")
    book(company, at(9, 4), "grant", 10)
    use(company, at(9, 20), 70)
    second = buy(company, at(10, 1, 1), 100, "150.00")
    use(company, at(10, 15), 60)
    book(company, at(10, 20), "withdraw", 5)
    seal(company)

    assert month_closing.close() == 2

    september = ClosedMonth.objects.get(month=SEPTEMBER)
    october = ClosedMonth.objects.get(month=OCTOBER)
    assert rows(SEPTEMBER) == [(0, 100, 10, 0, 70, 40)]
    assert rows(OCTOBER) == [(40, 100, 0, 5, 60, 75)]
    assert september.charges == [charge(first.pk.hex, 70, "140.00")]
    # The withdrawal took five granted tokens, so five are left to be used for nothing.
    assert october.charges == [
        charge(first.pk.hex, 30, "60.00"),
        {"order": "", "tokens": 5, "amount": "0.00", "currency": "", "vat_rate": None},
        charge(second.pk.hex, 25, "37.50"),
    ]
    assert september.money == {"RUB": {"opening": "0.00", "closing": "60.00"}}
    assert october.money == {"RUB": {"opening": "60.00", "closing": "112.50"}}
    assert (september.is_due, october.is_due) == (True, True)
    assert len(october.head) == 64
    assert october.head != september.head


def charge(order: str, tokens: int, amount: str) -> dict[str, object]:
    return {
        "order": order,
        "tokens": tokens,
        "amount": amount,
        "currency": "RUB",
        "vat_rate": "22.00",
    }


def test_midnight_is_that_of_the_service() -> None:
    """21:00 UTC of 30 September is October in Moscow."""
    seller()
    company = make_company()
    buy(company, at(9, 30, 23), 10, "10.00")
    use(company, at(9, 30, 23), 1)
    use(company, at(10, 1, 0), 2)
    seal(company)

    month_closing.close()

    assert rows(SEPTEMBER) == [(0, 10, 0, 0, 1, 9)]
    assert rows(OCTOBER) == [(9, 0, 0, 0, 2, 7)]


@pytest.mark.parametrize(
    ("until", "closed"), [(date(2026, 10, 31), 1), (date(2026, 11, 1), 2), (date(2026, 12, 1), 3)]
)
def test_month_waits_until_its_days_are_sealed(until: date, closed: int) -> None:
    seller()
    company = make_company()
    book(company, at(9, 3), "grant", 10)
    seal(company, until=until)

    assert month_closing.close() == closed


def test_nothing_is_closed_unless_the_operator_wants_documents() -> None:
    company = make_company()
    book(company, at(9, 3), "grant", 10)
    seal(company)

    assert month_closing.close() == 0


def test_tokens_used_before_the_first_closed_month_are_not_charged() -> None:
    seller()
    company = make_company()
    early = buy(company, at(7, 3), 100, "100.00")
    use(company, at(8, 5), 40)
    use(company, at(9, 5), 10)
    seal(company)

    month_closing.close()

    assert rows(SEPTEMBER) == [(60, 0, 0, 0, 10, 50)]
    closed = ClosedMonth.objects.get(month=SEPTEMBER)
    assert closed.charges == [charge(early.pk.hex, 10, "10.00")]
    assert closed.money == {"RUB": {"opening": "60.00", "closing": "50.00"}}


@pytest.mark.parametrize("is_by_operator", [True, False])
def test_tokens_that_a_failed_refund_returned_are_taken_again(*, is_by_operator: bool) -> None:
    """All happens in one month, whose withdrawals exceed the tokens that it ever had."""
    seller()
    company = make_company()
    order = buy(company, at(9, 2), 100, "100.00")
    use(company, at(9, 3), 10)
    failed = refund(order, at(9, 10), "90.00", 90)
    failed.returned_at = at(9, 11)
    failed.save()
    book(company, at(9, 11), "grant", 90, key=f"{failed.transfer_key}:returned")
    if is_by_operator:
        book(company, at(9, 12), "withdraw", 90)
    else:
        refund(order, at(9, 12), "90.00", 90)
    seal(company)

    assert month_closing.close() == 2

    assert rows(SEPTEMBER) == [(0, 100, 90, 180, 10, 0)]
    assert ClosedMonth.objects.get(month=SEPTEMBER).charges == [charge(order.pk.hex, 10, "10.00")]


def test_won_dispute_counts_in_the_month_it_was_won() -> None:
    seller()
    company = make_company()
    kept = buy(company, at(9, 1), 100, "100.00")
    disputed = buy(company, at(9, 2), 50, "100.00")
    row = refund(disputed, at(9, 10), "100.00", 50)
    row.returned_at = at(10, 10)
    row.save()
    book(company, at(10, 10), "grant", 50, key=f"{row.transfer_key}:returned")
    use(company, at(10, 20), 120)
    seal(company)

    month_closing.close()

    assert ClosedMonth.objects.get(month=SEPTEMBER).money == {
        "RUB": {"opening": "0.00", "closing": "100.00"}
    }
    october = ClosedMonth.objects.get(month=OCTOBER)
    assert october.charges == [
        charge(kept.pk.hex, 100, "100.00"),
        charge(disputed.pk.hex, 20, "40.00"),
    ]
    assert october.money == {"RUB": {"opening": "100.00", "closing": "60.00"}}


def test_refund_before_credit_counts_with_it() -> None:
    """A month is closed by then: what was booked in it before would be in no balance."""
    seller()
    company = make_company()
    buy(company, at(9, 3), 100, "200.00")
    seal(company, until=date(2026, 10, 3))
    assert month_closing.close() == 1
    order = buy(company, at(10, 5), 100, "150.00")
    early = refund(order, at(10, 5, 13), "50.00", 33)
    Refund.objects.filter(pk=early.pk).update(created_at=at(9, 25))
    seal(company)

    assert month_closing.close() == 1

    october = ClosedMonth.objects.get(month=OCTOBER)
    assert october.money == {"RUB": {"opening": "200.00", "closing": "300.00"}}
    (account,) = reconciliation_act.make(company, SEPTEMBER, date(2026, 10, 31)).accounts
    assert account.closing == Decimal("300.00")


def test_broken_books_block_only_their_company() -> None:
    seller()
    broken = make_company()
    sound = make_company()
    for each in (broken, sound):
        buy(each, at(9, 3), 100, "200.00")
        use(each, at(9, 20), 70)
    seal(broken, sound)
    by_force(
        "UPDATE billing_transfer SET balance_after = balance_after + 1"
        " WHERE company_id = %s AND kind = 'capture'",
        [broken.pk],
    )

    month_closing.close()

    assert set(ClosedMonth.objects.values_list("company", flat=True)) == {sound.pk}


def test_many_charges_agree_with_the_balances() -> None:
    """The closing balance is read from stored balances."""
    seller()
    company = make_company()
    buy(company, at(9, 1), 5000, "5000.00")
    moments = [(at(9, 2) + timedelta(minutes=n), 1 + n % 3) for n in range(600)]
    create_transfers(
        [row for when, tokens in moments for row in charge_rows(company, when, when, tokens)]
    )
    seal(company)

    month_closing.close()

    spent = sum(
        Transfer.objects.filter(company=company, kind="capture").values_list("amount", flat=True)
    )
    assert rows(SEPTEMBER) == [(0, 5000, 0, 0, spent, 5000 - spent)]
    closed = ClosedMonth.objects.get(month=SEPTEMBER)
    assert closed.charges[0]["amount"] == f"{Decimal(spent):.2f}"


@pytest.mark.django_db(transaction=True)
def test_eight_at_once_close_each_month_once() -> None:
    seller()
    companies = [make_company() for _number in range(3)]
    for company in companies:
        buy(company, at(9, 3), 100, "200.00")
        use(company, at(10, 20), 70)
    seal(*companies)

    at_once([month_closing.close] * 8)
    month_closing.close()

    assert ClosedMonth.objects.count() == 6
    assert sorted(Lot.objects.values_list("tokens", "used")) == [(100, 70)] * 3
    assert not ClosedMonth.objects.filter(month=NOVEMBER).exists()
