"""Compares seals with the transfers they closed, with one another, and with archived months.

A seal's parts have the number and the effect of a month's transfers, not their kinds. So the seals
prove the charges, and the sum of holds and releases; docs/reliability.md lists what they leave
open. Months are those of the messages, like partitions (docs/decisions/0019): a month's transfers
are in its partition, and in the seals of its days and of some days after it. A table's first
partition also has all earlier months.
"""

import json
from collections.abc import Collection, Iterator, Sequence
from datetime import date, timedelta
from typing import NamedTuple

from django.db.models import Max

from billing.models import ArchivedMonth, Seal, SealedDay, Transfer
from billing.seals.hashes import NOTHING, Part, days_of, head_of, utc_start_of
from billing.seals.sealing import BEGINNING, sealed_days
from catalogue.ids import first_id_at
from storage.months.calendar import next_month, parse_month
from storage.statements import sql_files
from storage.statements.queries import fetch_column, fetch_tuples, fetch_value

PORTION_TRANSFERS = 200_000  # transfers in one portion, or one day
PORTION_DAYS = 31  # of all companies, in one portion
DAY = timedelta(days=1)

DIFFERS = "seal differs from its transfers"
BROKEN = "seal does not follow the one before"
UNSEALED = "transfers behind a seal"
OTHER_DAY = "sealed day differs from its seals"
SUM_DIFFERS = "archived sum differs from its seals"
ARCHIVED_BUT_PRESENT = "transfers of an archived month"

_SQL = sql_files.read_several(
    "billing/seals/proof.sql",
    available=Transfer.AVAILABLE.replace("amount", "tokens"),
    held=Transfer.HELD.replace("amount", "tokens"),
)


class Fault(NamedTuple):
    check: str
    subject: str


class Portion(NamedTuple):
    """The faults found by a bounded part of the check, and the first day of the next part."""

    faults: list[Fault]
    next_day: date | None


def next_company(after: int) -> int | None:
    company_id: int | None = fetch_value(_SQL["next_company"], {"after": after})
    return company_id


def check_company(company_id: int, since: date = BEGINNING) -> Portion:
    """Checks a company's sealed days from `since` on, up to a portion."""
    last = SealedDay.last()
    if last is None:
        return Portion([], None)
    read, next_day = _read(company_id, since, last)
    until = next_day or last + DAY
    seals = Seal.objects.filter(company=company_id).order_by("day")
    sealed = list(seals.filter(day__gte=since, day__lt=until))
    previous = seals.filter(day__lt=since).last()
    return Portion([*_compare(company_id, sealed, read), *_chain(previous, sealed)], next_day)


def _read(company_id: int, since: date, last: date) -> tuple[dict[date, list[Part]], date | None]:
    """The parts of each day's transfers, and the first day of the next portion."""
    read = {}
    transfers = 0
    for day, parts in days_of(company_id, since, last + DAY):
        read[day] = parts
        transfers += sum(part.transfers for part in parts)
        if transfers >= PORTION_TRANSFERS:
            return read, day + DAY
    return read, None


def _compare(
    company_id: int, sealed: Sequence[Seal], read: dict[date, list[Part]]
) -> Iterator[Fault]:
    """The faults of days whose transfers differ from their seal.

    Reads the list of archived months after the transfers, because one may leave in the meantime.
    """
    archived = ArchivedMonth.objects.aggregate(month=Max("month"))["month"]
    archived_until = f"{archived:%Y-%m}" if archived else ""
    stored = {seal.day: _parts(seal) for seal in sealed}
    for day in sorted(stored.keys() | read.keys()):
        if _present(stored.get(day, []), archived_until) != _present(
            read.get(day, []), archived_until
        ):
            check = DIFFERS if day in stored else UNSEALED
            yield Fault(check, f"company {company_id} on {day}")


def _parts(seal: Seal) -> list[Part]:
    return [Part(**part) for part in seal.parts]


def _present(parts: Sequence[Part], archived_until: str) -> list[Part]:
    """The parts whose rows are in the database: months leave it oldest first."""
    return [part for part in parts if not part.month or part.month > archived_until]


def _chain(previous: Seal | None, sealed: Sequence[Seal]) -> Iterator[Fault]:
    for seal in sealed:
        if not _follows(previous, seal):
            yield Fault(BROKEN, f"company {seal.company_id} on {seal.day}")
        previous = seal


def _follows(previous: Seal | None, seal: Seal) -> bool:
    parts = _parts(seal)
    before = previous or Seal(head=NOTHING, transfers=0, available=0, held=0)
    return (seal.head, seal.transfers, seal.available, seal.held) == (
        head_of(before.head, seal.day, parts),
        before.transfers + sum(part.transfers for part in parts),
        before.available + sum(part.available for part in parts),
        before.held + sum(part.held for part in parts),
    )


def check_days(since: date = BEGINNING) -> Portion:
    """Checks the heads of all companies, a month of days at a time."""
    days = list(SealedDay.objects.filter(day__gte=since).order_by("day")[:PORTION_DAYS])
    if not days:
        return Portion([], None)
    previous = SealedDay.objects.filter(day__lt=days[0].day).order_by("day").last()
    until = days[-1].day + DAY
    expected = sealed_days(days[0].day, until, previous.head if previous else NOTHING)
    stored = {(row.day, row.companies, row.head) for row in days}
    wrong = [row.day for row in expected if (row.day, row.companies, row.head) not in stored]
    return Portion([Fault(OTHER_DAY, str(day)) for day in wrong[:1]], until)


def check_archived_sums(company_id: int) -> list[Fault]:
    """The faults of the company's archived sums: changed, deleted or invented ones."""
    return [
        Fault(SUM_DIFFERS, f"company {company_id} in {month:%Y-%m}")
        for month in fetch_column(_SQL["wrong_archived_sums"], {"company": company_id})
    ]


def check_archived_months() -> list[Fault]:
    """The fault of transfers that are in the database although their month counts as archived.

    They would no longer be compared with the seals.
    """
    newest = ArchivedMonth.objects.aggregate(month=Max("month"))["month"]
    if newest is None:
        return []
    end = first_id_at(utc_start_of(next_month(newest)))
    row = Transfer.objects.filter(message_id__lt=end).order_by("message_id").first()
    return [Fault(ARCHIVED_BUT_PRESENT, f"transfer {row.pk}")] if row else []


Parts = dict[tuple[int, date, str], Part]  # by company, day and month

_SEALED = """
SELECT seal.company_id, seal.day, part FROM billing_seal seal
CROSS JOIN LATERAL jsonb_array_elements(seal.parts) AS part
WHERE seal.day >= %s AND part->>'month' = ANY(%s) ORDER BY seal.company_id, seal.day
"""


def sealed_parts(months: Collection[str]) -> Parts:
    """The sealed parts of `months`, such as 2026-05. A month's first message may be a moment older
    than it.
    """
    since = parse_month(min(months)) - timedelta(days=1)
    rows = fetch_tuples(_SEALED, [since, list(months)])
    parts = [(company, day, Part(**json.loads(part))) for company, day, part in rows]
    return {(company, day, part.month): part for company, day, part in parts}


def parts_of_transfers() -> Parts:
    """The parts computed from the transfers themselves, which the seals must equal."""
    companies = Transfer.objects.order_by("company").values_list("company", flat=True).distinct()
    return {
        (company, day, part.month): part
        for company in companies
        for day, parts in days_of(company, BEGINNING, date.max)
        for part in parts
    }
