"""A line of a statement, as any source gives it."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal

from parsing.characters import is_text, one_line

LONGEST_AMOUNT = 14  # digits, as the column has them


@dataclass(frozen=True, slots=True)
class StatementLine:
    source: str
    account: str  # ours
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
    occurrence: int = 1  # of those in one statement that are the same in everything below

    def __post_init__(self) -> None:
        """Raises ValueError for what no bank writes: a transfer is money, so nothing is guessed."""
        texts = (self.account, self.document_number, self.party_name, self.party_inn)
        if not all(map(is_clean, (*texts, self.party_account, self.purpose, self.operation_id))):
            raise ValueError("control characters")
        if not (self.amount.is_finite() and self.amount.adjusted() < LONGEST_AMOUNT - 2):
            raise ValueError("not an amount")

    @property
    def key(self) -> str:
        """The same for the same transfer from every source.

        Not the bank's id of the operation: T-Bank may change it overnight, and files have none.
        """
        facts = (
            self.account,
            "in" if self.is_incoming else "out",
            self.document_number.lstrip("0") or self.operation_id,
            self.documented_on.isoformat(),
            self.party_account,
            f"{self.amount:.2f}",
            "".join(one_line(self.purpose).split()).casefold()[:100],
            str(self.occurrence),
        )
        return hashlib.sha256("\n".join(facts).encode()).hexdigest()


def is_clean(text: str) -> bool:
    """Not `is_line`: soft hyphens and other unseen characters are in purposes that people paste."""
    return is_text(text) and not {"\t", "\r", "\n"} & set(text)


def numbered(lines: Iterable[StatementLine]) -> Iterator[StatementLine]:
    """Tells the lines of one statement apart that differ in nothing: two transfers all the same."""
    seen: Counter[str] = Counter()
    for line in lines:
        seen[line.key] += 1
        yield replace(line, occurrence=seen[line.key])
