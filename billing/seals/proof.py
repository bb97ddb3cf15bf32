"""Compares seals with the transfers they closed, and with one another."""

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import NamedTuple

from django.db import connection
from django.db.models import Max

from billing.models import ArchivedMonth, Seal, SealedDay
from billing.seals.hashes import NOTHING, Part, days_of, head_of
from billing.seals.sealing import BEGINNING, sealed_days

ENOUGH = 200_000  # transfers in one portion, or one day
DAYS = 31  # of all companies, in one portion
DAY = timedelta(days=1)

DIFFERS = "seal differs from its transfers"
BROKEN = "seal does not follow the one before"
UNSEALED = "transfers behind a seal"
OTHER_DAY = "sealed day differs from its seals"

# A loose index scan of all three.
_NEXT_COMPANY = """
SELECT LEAST(
  (SELECT company_id FROM billing_transfer WHERE company_id > %(after)s
   ORDER BY company_id LIMIT 1),
  (SELECT company_id FROM billing_seal WHERE company_id > %(after)s
   ORDER BY company_id LIMIT 1),
  (SELECT company_id FROM billing_archivedsum WHERE company_id > %(after)s
   ORDER BY company_id LIMIT 1))
"""


class Fault(NamedTuple):
    check: str
    subject: str


class Portion(NamedTuple):
    """What a bounded part of the check found, and the day at which the next one begins."""

    faults: list[Fault]
    next_day: date | None


def next_company(after: int) -> int | None:
    with connection.cursor() as cursor:
        cursor.execute(_NEXT_COMPANY, {"after": after})
        company_id: int | None = cursor.fetchone()[0]
    return company_id


def check_company(company_id: int, since: date = BEGINNING) -> Portion:
    """Checks the sealed days of a company from `since` on, as many as one portion has."""
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
    """What the transfers say of each day, and where the next portion begins."""
    read = {}
    transfers = 0
    for day, parts in days_of(company_id, since, last + DAY):
        read[day] = parts
        transfers += sum(part.transfers for part in parts)
        if transfers >= ENOUGH:
            return read, day + DAY
    return read, None


def _compare(
    company_id: int, sealed: Sequence[Seal], read: dict[date, list[Part]]
) -> Iterator[Fault]:
    """Asks after the reading which months are archived: one may leave meanwhile."""
    archived = ArchivedMonth.objects.aggregate(month=Max("month"))["month"]
    gone = f"{archived:%Y-%m}" if archived else ""
    stored = {seal.day: Part.stored(seal.parts) for seal in sealed}
    for day in sorted(stored.keys() | read.keys()):
        if _present(stored.get(day, []), gone) != _present(read.get(day, []), gone):
            check = DIFFERS if day in stored else UNSEALED
            yield Fault(check, f"company {company_id} on {day}")


def _present(parts: Sequence[Part], gone: str) -> list[Part]:
    """The parts whose rows are in the database: months leave it oldest first."""
    return [part for part in parts if not part.month or part.month > gone]


def _chain(previous: Seal | None, sealed: Sequence[Seal]) -> Iterator[Fault]:
    for seal in sealed:
        if not _follows(previous, seal):
            yield Fault(BROKEN, f"company {seal.company_id} on {seal.day}")
        previous = seal


def _follows(previous: Seal | None, seal: Seal) -> bool:
    parts = Part.stored(seal.parts)
    before = previous or Seal(head=NOTHING, transfers=0, available=0, held=0)
    return (seal.head, seal.transfers, seal.available, seal.held) == (
        head_of(before.head, seal.day, parts),
        before.transfers + sum(part.transfers for part in parts),
        before.available + sum(part.available for part in parts),
        before.held + sum(part.held for part in parts),
    )


def check_days(since: date = BEGINNING) -> Portion:
    """Checks the heads of all companies, a month of days at a time."""
    days = list(SealedDay.objects.filter(day__gte=since).order_by("day")[:DAYS])
    if not days:
        return Portion([], None)
    previous = SealedDay.objects.filter(day__lt=days[0].day).order_by("day").last()
    until = days[-1].day + DAY
    expected = sealed_days(days[0].day, until, previous.head if previous else NOTHING)
    stored = {(row.day, row.companies, row.head) for row in days}
    wrong = [row.day for row in expected if (row.day, row.companies, row.head) not in stored]
    return Portion([Fault(OTHER_DAY, str(day)) for day in wrong[:1]], until)
