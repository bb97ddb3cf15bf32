"""Opening, turnover and closing of any period agree with the transfers, in tokens and in money."""

import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from accounts.models import Company
from billing.documents import issuing, month_closing, period_statement, reconciliation_act
from billing.models import ArchivedMonth, ArchivedSum, ClosedMonth, Transfer
from billing.wallet.period_totals import Totals, balances_at, local_start_of
from tests.billing.documents.history import (
    NOVEMBER,
    SEPTEMBER,
    at,
    buy,
    make_company,
    refund,
    seal,
    seller,
    use,
)
from tests.billing.seals.books import book, by_force
from tests.factories import TransferFactory, create_transfers

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture
def one() -> Company:
    """Two closed months, and some of November."""
    seller(vat_rate=None)
    row = make_company()
    first = buy(row, at(9, 3), 100, "200.00", vat_rate=None)
    book(row, at(9, 4), "grant", 10)
    use(row, at(9, 20), 70)
    refund(first, at(10, 5), "20.00", 10)
    buy(row, at(10, 6), 100, "150.00", vat_rate=None)
    use(row, at(10, 31, 23), 60)
    use(row, at(11, 2), 1)
    seal(row)
    month_closing.close()
    issuing.issue()
    return row


def test_period_statement_lists_months_and_sums_them(one: Company) -> None:
    statement = period_statement.make(one, SEPTEMBER, NOVEMBER + DAY)

    assert [period.tokens for period in statement.periods] == [
        Totals(0, 100, 10, 0, 70, 40),
        Totals(40, 100, 0, 10, 60, 70),
        Totals(70, 0, 0, 0, 1, 69),
    ]
    assert statement.tokens == Totals(0, 200, 10, 10, 131, 69)
    money = [
        tuple(map(int, (row.opening, row.received, row.refunded, row.charged, row.closing)))
        for period in statement.periods
        for row in period.money
    ]
    # 70 of the first hundred are used in September; ten go back, so October uses its last twenty,
    # ten granted tokens and thirty of the second hundred.
    assert money == [(0, 200, 0, 140, 60), (60, 150, 20, 85, 105), (105, 0, 0, 0, 105)]
    assert [period.seal is not None for period in statement.periods] == [True, True, False]
    assert len(statement.transfers) == 4


def test_part_of_a_month_has_no_charges_before_its_end(one: Company) -> None:
    statement = period_statement.make(one, date(2026, 10, 6), date(2026, 10, 30))

    assert statement.tokens == Totals(30, 100, 0, 0, 0, 130)
    row = statement.money[0]
    assert [int(row.opening), int(row.received), int(row.charged)] == [40, 150, 0]


def test_csv_has_tokens_and_money_and_the_seals(one: Company) -> None:
    rows = list(
        period_statement.csv_rows(period_statement.make(one, SEPTEMBER, date(2026, 10, 31)))
    )

    head = ClosedMonth.objects.get(month=SEPTEMBER).head
    assert rows[1] == ["2026-09-01", "2026-09-30", "токенов", 0, 100, 10, 0, 70, 40, head]
    assert rows[2][:5] == ["2026-09-01", "2026-09-30", "RUB", Decimal("0.00"), Decimal("200.00")]
    assert [row[2] for row in rows[1:]] == ["токенов", "RUB"] * 3


def test_reconciliation_act_lists_debit_and_credit(one: Company) -> None:
    act = reconciliation_act.make(one, SEPTEMBER, date(2026, 10, 31))

    account = act.accounts[0]
    assert [int(each) for each in (account.opening, account.debit, account.credit)] == [0, 245, 350]
    assert account.closing == Decimal("105.00")
    assert [(row.day, int(row.debit), int(row.credit)) for row in account.rows] == [
        (date(2026, 9, 3), 0, 200),
        (date(2026, 9, 30), 140, 0),
        (date(2026, 10, 5), 20, 0),
        (date(2026, 10, 6), 0, 150),
        (date(2026, 10, 31), 85, 0),
    ]
    assert "2026-1" in account.rows[1].title


def test_balances_at_any_moment_are_those_of_the_transfers() -> None:
    dice = random.Random(7)  # noqa: S311
    row = make_company()
    book(row, at(9, 1), "grant", 10_000)
    kinds = ["grant", "withdraw", "top_up"]
    create_transfers(
        [
            TransferFactory.build(
                company=row,
                created_at=at(9, 2) + timedelta(minutes=17 * (n // 2)),
                kind=dice.choice(kinds),
                amount=dice.randint(1, 9),
            )
            for n in range(400)
        ]
    )
    seal(row)
    moments = sorted(at(9, 1, 1) + timedelta(minutes=dice.randint(0, 9000)) for _n in range(60))
    moments += [Transfer.objects.order_by("-created_at")[9].created_at]  # at the very moment

    result = balances_at(row.pk, sorted(moments))

    signs = {"grant": 1, "top_up": 1, "withdraw": -1}
    assert result == [
        sum(
            signs[each.kind] * each.amount
            for each in Transfer.objects.filter(company=row, created_at__lt=moment)
        )
        for moment in sorted(moments)
    ]


def test_period_begins_after_what_is_archived() -> None:
    row = make_company()
    book(row, at(11, 1), "grant", 5)
    month = ArchivedMonth.objects.create(month=date(2026, 8, 1))
    ArchivedSum.objects.create(
        company=row,
        month=month,
        kind="grant",
        transfers=1,
        tokens=30,
        last_at=datetime(2026, 8, 9, tzinfo=UTC),
    )
    by_force("UPDATE billing_transfer SET balance_after = balance_after + %s", [30])
    seal(row)
    row.wallet.available += 30
    row.wallet.save()

    assert period_statement.first_day(row) == date(2026, 8, 10)
    statement = period_statement.make(row, date(2026, 8, 10), timezone.localdate())
    assert statement.tokens == Totals(30, 0, 5, 0, 0, 35)
    assert balances_at(row.pk, [local_start_of(date(2026, 9, 1))]) == [30]
