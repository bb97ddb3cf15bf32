"""Reconciles wallets, holds, settlements and proofs with one another."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import timedelta
from uuid import UUID

from django.core.cache import cache
from django.db import transaction

from billing.models import SealedDay, Transfer
from billing.seals.hashes import utc_start_of
from catalogue.ids import first_id_at
from storage.statements import sql_files
from storage.statements.queries import execute, fetch_column


@dataclass(frozen=True, slots=True)
class Slice:
    """Conditions on messages, their transfers and their attempts."""

    messages: str = "TRUE"
    transfers: str = "TRUE"
    attempts: str = "TRUE"

    @classmethod
    def of_messages(cls, after: UUID | None = None, until: UUID | None = None) -> "Slice":
        """A slice of messages from `after`, exclusive, to `until`, inclusive.

        Conditions on both tables choose the partitions.
        """
        bounds = [f"{{id}} > '{after}'"] if after else []
        bounds += [f"{{id}} <= '{until}'"] if until else []
        condition = " AND ".join(bounds) or "TRUE"
        ids = ("message.id", "transfer.message_id", "attempt.message_id")
        return cls(*(condition.format(id=message_id) for message_id in ids))


# Earlier runs have checked old messages. Phones are anonymised much later; the condition on them
# lets the partial index on `created_at` find recent messages.
RECENT_MESSAGES = "message.created_at > now() - interval '2 hours' AND message.phone NOT LIKE '%*'"
RECENT = Slice(RECENT_MESSAGES)
ALL = Slice()
# A message is final within a day after its acceptance, or found open past its deadline.
MAX_MESSAGE_AGE = timedelta(days=3)

BALANCE_DIFFERS = "balance after a transfer differs from its transfers"
_SUMS = {"available": Transfer.AVAILABLE, "held": Transfer.HELD}


def wrong_balances(spans: str) -> str:
    """The query of wrong balances in these `spans`; see `balances.sql`."""
    return sql_files.read_several("channels/balances.sql", spans=spans, **_SUMS)["wrong_balances"]


_BALANCES = sql_files.read_several("channels/balances.sql", spans="", **_SUMS)
# name → a query that returns the breaches, with the fields of `Slice` to be filled in.
CHECKS = sql_files.read_several(
    "channels/reconciliation.sql",
    booked=_BALANCES["booked"],
    wrong_balances=wrong_balances(_BALANCES["spans_since_last_seals"]),
    **{name: f"{{{name}}}" for name in Slice.__annotations__},
)
FULL_SCAN_CHECKS = {
    "wallet differs from its transfers",
    BALANCE_DIFFERS,
    "transfer of a message that does not exist",
    "credited without a paid top-up",
    "closed month differs from its charges or the month before",
    "lots of tokens differ from the last closed month",
    "documents differ from their closed month",
}
REMEMBERED = {"recent": 900, "changed": 43_200, "full": 15 * 86_400}  # seconds; two runs
MAX_REMEMBERED = 100


@dataclass(frozen=True, slots=True)
class Breach:
    check: str
    subject: str


def breaches(*, recent: bool = False) -> Iterator[Breach]:
    """Yields every breach in changes since the last sealed day, or in the last two hours.

    The whole history is left to `full_reconciliation`, unless nothing is sealed yet.
    """
    with transaction.atomic():
        execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        if not recent:
            execute("SET LOCAL statement_timeout = 0")
        checks = CHECKS.keys() - FULL_SCAN_CHECKS if recent else CHECKS.keys()
        yield from run(checks, RECENT if recent else since_last_seal())


def since_last_seal() -> Slice:
    sealed = SealedDay.last()
    if sealed is None:
        return ALL
    open_from = utc_start_of(sealed + timedelta(days=1))
    return Slice.of_messages(after=first_id_at(open_from - MAX_MESSAGE_AGE))


def run(names: Collection[str], part: Slice) -> Iterator[Breach]:
    """Runs these checks, in their own order, in the caller's transaction."""
    for check, query in CHECKS.items():
        if check in names:
            for subject in fetch_column(query.format(**asdict(part))):
                yield Breach(check, subject)


def remember(breaches: Iterable[Breach], check_kind: str) -> None:
    """Stores the findings of a scheduled check for the operators' alerts, for two more checks."""
    texts = [f"{breach.check}: {breach.subject}" for breach in breaches]
    cache.set(_key(check_kind), texts[:MAX_REMEMBERED], REMEMBERED[check_kind])


def recent_breaches() -> list[str]:
    cached = cache.get_many([_key(check_kind) for check_kind in REMEMBERED])
    return list(dict.fromkeys(text for texts in cached.values() for text in texts))


def _key(check_kind: str) -> str:
    return f"ledger_breaches:{check_kind}"
