"""Transfers of past days for the tests of seals."""

from datetime import UTC, date, datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID

from django.db import connection
from django.utils import timezone

from accounts.models import Company
from billing.models import Transfer, Wallet
from catalogue.ids import first_id_at
from tests.billing.wallet.double_entry import ACCOUNTS
from tests.factories import CompanyFactory, TransferFactory, WalletFactory, create_transfers
from tests.session_settings import session_setting

# Sealed by any run of today: no test depends on the hour at which it runs.
FIRST = timezone.now().astimezone(UTC).date() - timedelta(days=70)
LAST = FIRST + timedelta(days=64)
_SERIALS = count(1)


def day(number: int) -> date:
    return FIRST + timedelta(days=number)


def at(number: int, hour: int = 12, **more: int) -> datetime:
    midnight = datetime.combine(day(number), datetime.min.time(), UTC)
    return midnight + timedelta(hours=hour, **more)


def message(moment: datetime) -> UUID:
    """The id of a message accepted then."""
    return UUID(int=first_id_at(moment).int + next(_SERIALS))


def book(company: Company, created_at: datetime, kind: str, amount: int, **fields: Any) -> Transfer:
    row: Transfer = TransferFactory.create(
        company=company, created_at=created_at, kind=kind, amount=amount, **fields
    )
    return row


def charged(company: Company, held: datetime, ended: datetime, price: int = 2) -> None:
    """A message's hold and its charge."""
    create_transfers(charge_rows(company, held, ended, price))


def charge_rows(
    company: Company, held: datetime, ended: datetime, price: int = 2
) -> list[Transfer]:
    """Returns the rows of a charge, not stored: storing many at once sums up the ledger once."""
    of: dict[str, Any] = {"company": company, "message_id": message(held), "amount": price}
    return [
        TransferFactory.build(kind="hold", created_at=held, **of),
        TransferFactory.build(kind="capture", created_at=ended, proof="receipt", **of),
    ]


def busy_company(**fields: Any) -> Company:
    """A company with transfers of every kind on six days, some of today, and their wallet."""
    company: Company = CompanyFactory.create(**fields)
    book(company, at(0, 9), "grant", 500, reason='free, "as agreed"\n=1+1; ночь 🌒 \\ \x01')
    charges = [
        row
        for start in (at(0), at(1), at(1, 13), at(20), at(40), at(64))
        for row in charge_rows(company, start, start + timedelta(seconds=3))
    ]
    # one more is held on one day and charged on the next
    create_transfers([*charges, *charge_rows(company, at(1, 23), at(2, 1))])
    book(company, at(20, 14), "withdraw", 7, reason="taken back")
    lost = message(at(41))
    book(company, at(41), "hold", 3, message_id=lost)
    book(company, at(41, 13), "release", 3, message_id=lost, reason="expired")
    book(company, timezone.now(), "top_up", 11)
    wallet_of(company)
    return company


def wallet_of(company: Company) -> Wallet:
    """Makes the wallet agree with the transfers."""
    rows = list(Transfer.objects.filter(company=company))
    sums: dict[str, int] = {}
    for row in rows:
        debited, credited = ACCOUNTS[Transfer.Kind(row.kind)]
        sums[debited] = sums.get(debited, 0) - row.amount
        sums[credited] = sums.get(credited, 0) + row.amount
    Wallet.objects.filter(company=company).delete()
    wallet: Wallet = WalletFactory.create(
        company=company, available=sums.get("available", 0), held=sums.get("held", 0)
    )
    return wallet


def by_force(statement: str, params: list[Any]) -> None:
    """Runs a statement that the triggers refuse to everybody."""
    with session_setting("session_replication_role", "replica"), connection.cursor() as cursor:
        cursor.execute(statement, params)
