"""Archived transfers against the seals of their days (docs/decisions/0020)."""

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from billing.models import Transfer
from billing.seals.heads import Part
from billing.seals.months import line_of, parts_of
from billing.wallet.ledger import ACCOUNTS
from operator_admin.archive import ArchiveError, parquet_files


class _Key(NamedTuple):
    company: int
    day: date
    month: str


class _Growing:
    """A part of which more may come."""

    def __init__(self) -> None:
        self.transfers = self.available = self.held = 0
        self.digest = sha256()

    def add(self, row: Mapping[str, Any]) -> None:
        accounts = ACCOUNTS[Transfer.Kind(row["kind"])]
        self.transfers += 1
        self.available += _change("available", accounts, row["amount"])
        self.held += _change("held", accounts, row["amount"])
        self.digest.update(f"{line_of(row)}\n".encode())

    def done(self, month: str) -> Part:
        return Part(month, self.transfers, self.available, self.held, self.digest.hexdigest())


def check(month: date, path: Path) -> None:
    """Raises ArchiveError unless the file has every transfer that was sealed, as it was."""
    found = _parts_in(path)
    months = {key.month for key in found} | {f"{month:%Y-%m}"}
    sealed = dict(part for each in months for part in _sealed(each))
    for key in sorted(found.keys() | sealed.keys()):
        if found.get(key) != sealed.get(key):
            raise ArchiveError(
                f"{path}: the transfers of company {key.company} on {key.day} are not those that "
                f"were sealed"
            )


def _parts_in(path: Path) -> dict[_Key, Part]:
    """The file has each company's transfers by time and id, as they were hashed."""
    parts: dict[_Key, _Growing] = {}
    for row in parquet_files.transfers(path):
        row["message_id"] = UUID(row["message_id"])
        at = row["created_at"].astimezone(UTC)
        key = _Key(row["company_id"], at.date(), _month_of(row["message_id"]))
        parts.setdefault(key, _Growing()).add(row)
    return {key: part.done(key.month) for key, part in parts.items()}


def _sealed(month: str) -> Iterator[tuple[_Key, Part]]:
    year, number = month.split("-")
    for company, day, part in parts_of(date(int(year), int(number), 1)):
        yield _Key(company, day, month), part


def _change(account: str, accounts: tuple[str, str], amount: int) -> int:
    debited, credited = accounts
    return amount * ((credited == account) - (debited == account))


def _month_of(message_id: UUID) -> str:
    """The first 48 bits of a UUIDv7 are its time in milliseconds."""
    return f"{datetime.fromtimestamp((message_id.int >> 80) / 1000, UTC):%Y-%m}"
