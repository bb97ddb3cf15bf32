"""Stored balances: they change no page, follow late transfers, and are proved by `reconcile`."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from accounts.models import Company
from billing.models import RunningBalance, Transfer, Wallet
from billing.wallet import running_balances, statement
from billing.wallet.running_balances import INTERVAL
from channels import reconciliation
from tests.api.blocking import apart
from tests.factories import CompanyFactory, TransferFactory, WalletFactory
from tests.plans import reads

pytestmark = pytest.mark.django_db
LINES = 3 * INTERVAL + 40
CHECK = "running balance differs from its transfers"
SIGNS = {"grant": 1, "withdraw": -1}
# Four at the same moment, of which every third takes one away.
_TRANSFERS = """
INSERT INTO billing_transfer (company_id, kind, amount, key, proof, reason, created_at)
SELECT %s, CASE WHEN n %% 3 = 0 THEN 'withdraw' ELSE 'grant' END, 1 + n %% 3, 'line:' || n, '', '',
  now() - interval '1 day' + (n / 4) * interval '1 second'
FROM generate_series(1, %s) AS n ORDER BY n
"""


@pytest.fixture
def company() -> Company:
    company: Company = CompanyFactory.create()
    with connection.cursor() as cursor:
        cursor.execute(_TRANSFERS, [company.pk, LINES])
    WalletFactory.create(company=company, available=total(company), held=0)
    return company


def ordered(company: Company) -> list[Transfer]:
    return list(Transfer.objects.filter(company=company).order_by("created_at", "id"))


def changes(rows: Iterable[Transfer]) -> Iterable[int]:
    return (SIGNS[row.kind] * row.amount for row in rows)


def total(company: Company) -> int:
    return sum(changes(ordered(company)))


def expected(company: Company) -> list[tuple[Transfer, int]]:
    rows = ordered(company)
    return list(zip(rows, accumulate(changes(rows)), strict=True))


def shown(company: Company) -> list[tuple[Transfer, int]]:
    """By pages of which some begin or end exactly at a stored balance."""
    rows = ordered(company)
    found: list[tuple[Transfer, int]] = []
    for start in range(0, len(rows), 25):
        page = rows[start : start + 25][::-1]
        found += reversed(statement.with_balances(company, page))
    return found


def grant_late(company: Company, at: datetime, **fields: Any) -> Transfer:
    """As one whose transaction took long: its time is among lines that were summed already."""
    row: Transfer = TransferFactory.create(company=company, created_at=at, **fields)
    Wallet.objects.filter(company=company).update(available=total(company))
    return row


def wrong() -> int:
    """How many breaches this check finds."""
    with connection.cursor() as cursor:
        cursor.execute(reconciliation.CHECKS[CHECK].format(balances="TRUE"))
        return len(cursor.fetchall())


def test_every_250th_line_has_a_stored_balance(company: Company) -> None:
    assert running_balances.store(whole=True) == 3

    stored = RunningBalance.objects.order_by("created_at", "transfer_id")
    assert [(one.transfer_id, one.balance) for one in stored] == [
        (row.pk, balance) for row, balance in expected(company)[INTERVAL - 1 :: INTERVAL]
    ]
    assert running_balances.store(whole=True) == 0


def test_pages_are_the_same_with_and_without(company: Company) -> None:
    before = shown(company)
    running_balances.store(whole=True)

    assert before == shown(company) == expected(company)


def test_last_minute_is_left_to_later(company: Company) -> None:
    TransferFactory.create_batch(2 * INTERVAL, company=company)

    assert running_balances.store(whole=True) == 3


def test_quiet_wallets_are_looked_at_by_the_whole_run_alone(company: Company) -> None:
    assert running_balances.store() == 0

    Wallet.objects.update(day=timezone.localdate())

    assert running_balances.store() == 3


@pytest.mark.parametrize("place", [0, INTERVAL - 1, INTERVAL, 2 * INTERVAL + 7])
@pytest.mark.parametrize("kind", ["grant", "withdraw"])
def test_late_transfer_is_right_at_once_and_repaired(
    company: Company, place: int, kind: str
) -> None:
    running_balances.store(whole=True)
    at = ordered(company)[place].created_at

    grant_late(company, at, kind=kind, amount=500)

    assert shown(company) == expected(company)
    assert wrong() == 1
    assert running_balances.store(whole=True) > 0
    assert wrong() == 0
    with reads() as statements:
        assert shown(company) == expected(company)
    assert all("runningbalance" in text for text, _params in statements[1:-1])


def test_stored_balance_that_was_changed_is_found_and_repaired(company: Company) -> None:
    running_balances.store(whole=True)
    RunningBalance.objects.update(balance=5)

    assert wrong() == 3
    running_balances.store(whole=True)

    assert wrong() == 0
    assert shown(company) == expected(company)


def test_wallet_that_differs_from_its_transfers_makes_no_repair(company: Company) -> None:
    running_balances.store(whole=True)
    Wallet.objects.update(available=1_000_000)

    assert running_balances.store(whole=True) == 0
    assert wrong() == 0
    assert shown(company)[-1][1] == 1_000_000


def test_stored_balances_of_another_company_are_left_out(company: Company) -> None:
    other = CompanyFactory.create()
    TransferFactory.create(company=other, amount=3, created_at=timezone.now() - timedelta(days=9))
    WalletFactory.create(company=other, available=3, held=0)
    running_balances.store(whole=True)

    assert shown(other) == expected(other)
    assert set(RunningBalance.objects.values_list("company", flat=True)) == {company.pk}


@pytest.mark.django_db(transaction=True)
def test_one_process_stores_at_a_time(company: Company) -> None:
    with ThreadPoolExecutor(1) as pool, connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [running_balances.LOCK])
        during = pool.submit(apart, lambda: running_balances.store(whole=True)).result()
        cursor.execute("SELECT pg_advisory_unlock(%s)", [running_balances.LOCK])
        after = pool.submit(apart, lambda: running_balances.store(whole=True)).result()

    assert (during, after) == (0, 3)


@pytest.mark.django_db(transaction=True)
def test_reconcile_reports_a_wrong_one(company: Company) -> None:
    running_balances.store(whole=True)
    RunningBalance.objects.filter(balance__gt=0).update(balance=0)

    assert CHECK in {breach.check for breach in reconciliation.breaches()}
