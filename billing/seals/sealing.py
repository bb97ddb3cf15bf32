"""Writes the seals of closed days, in which no transfer can appear any more.

A seal depends only on the transfers of its day and the seal before it. So a run that is killed, or
runs in parallel to another, leaves the seals that the next run would write.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta
from itertools import groupby

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from accounts.jobs import Job, StopRunError
from billing.models import Seal, SealedDay
from billing.seals.hashes import NOTHING, Part, days_of, head_of, head_of_rows, utc_start_of
from storage import advisory_locks
from storage.statements import sql_files
from storage.statements.queries import execute, fetch_column, fetch_value

# Allows for clocks set back by a failover, and for the time between a transaction's start and its
# lock.
MARGIN = timedelta(minutes=10)

_SQL = sql_files.read_several("billing/seals/sealing.sql")


def closed_until(margin: timedelta = MARGIN) -> datetime:
    """The time before which every transfer is committed, and visible to later statements."""
    until: datetime = fetch_value(_SQL["closed_until"], {"margin": margin.total_seconds()})
    return until


JOB = Job("seals", _("seals of the books"))
LOCK = 0x6B76_736C  # an advisory lock: a second sealer exits
BEGINNING = date(2000, 1, 1)
BATCH_TRANSFERS = 200_000  # transfers per commit, or one day
BATCH_DAYS = 31  # days of all companies per commit
DAY = timedelta(days=1)


class OccupiedError(StopRunError):
    """Another process has the lock."""


def seal() -> int:
    """Seals every closed day; returns how many seals of companies it wrote."""
    return seal_before(closed_until().astimezone(UTC).date())


def seal_before(until: date) -> int:
    """Seals the days before `until`, in which no transfer may be outstanding.

    A day of all companies is marked once each company's is sealed.
    """
    last = SealedDay.last()
    since = last + DAY if last else BEGINNING
    if since >= until:
        return 0
    try:
        companies = _companies(since, until)
        written = JOB.each(companies, lambda company: _seal(company, since, until))
        if len(written) == len(companies):
            _mark_days(until)
    except OccupiedError:
        return 0
    return sum(written)


def _companies(since: date, until: date) -> list[int]:
    with transaction.atomic():
        execute("SET LOCAL statement_timeout = 0")
        return fetch_column(
            _SQL["companies"], {"since": utc_start_of(since), "until": utc_start_of(until)}
        )


def _seal(company_id: int, since: date, until: date) -> int:
    written = 0
    while batch := _seal_batch(company_id, since, until):
        written += batch
    return written


@transaction.atomic
def _seal_batch(company_id: int, since: date, until: date) -> int:
    """Seals a batch of days; returns the number of seals.

    Between its statements the transaction holds neither a snapshot nor a transaction id, so it
    never delays vacuum, however long it lasts.
    """
    take_lock(LOCK)
    last = Seal.objects.filter(company=company_id).order_by("day").last()
    since = max(since, last.day + DAY) if last else since
    seals = []
    transfers = 0
    for day, parts in days_of(company_id, since, until):
        last = _next_seal(company_id, last, day, parts)
        seals.append(last)
        transfers += sum(part.transfers for part in parts)
        if transfers >= BATCH_TRANSFERS:
            break
    Seal.objects.bulk_create(seals)
    return len(seals)


def _next_seal(company_id: int, last: Seal | None, day: date, parts: Sequence[Part]) -> Seal:
    return Seal(
        company_id=company_id,
        day=day,
        parts=[asdict(part) for part in parts],
        transfers=(last.transfers if last else 0) + sum(part.transfers for part in parts),
        available=(last.available if last else 0) + sum(part.available for part in parts),
        held=(last.held if last else 0) + sum(part.held for part in parts),
        head=head_of(last.head if last else NOTHING, day, parts),
    )


def _mark_days(until: date) -> None:
    """Marks the days before `until` as sealed, once every company is sealed to it. Marks nothing
    before the first transfer.
    """
    while _mark_batch(until):
        pass


@transaction.atomic
def _mark_batch(until: date) -> int:
    take_lock(LOCK)
    last = SealedDay.objects.order_by("day").last()
    first = (
        last.day + DAY
        if last
        else Seal.objects.order_by("day").values_list("day", flat=True).first()
    )
    if first is None or first >= until:
        return 0
    days = list(
        sealed_days(first, min(until, first + BATCH_DAYS * DAY), last.head if last else NOTHING)
    )
    SealedDay.objects.bulk_create(days)
    return len(days)


def sealed_days(since: date, until: date, head: str) -> Iterator[SealedDay]:
    """The days' rows, computed from companies' seals; `head` is that of the day before."""
    rows = Seal.objects.filter(day__gte=since, day__lt=until).order_by("day", "company_id")
    heads = rows.values_list("day", "company_id", "head")
    by_day = {
        day: [(company_id, seal) for _day, company_id, seal in rows_of_day]
        for day, rows_of_day in groupby(heads, key=lambda row: row[0])
    }
    while since < until:
        companies = by_day.get(since, [])
        head = head_of_rows(head, since, companies)
        yield SealedDay(day=since, companies=len(companies), head=head)
        since += DAY


def take_lock(number: int) -> None:
    """Takes a lock until the transaction ends; raises OccupiedError if another process has it."""
    execute("SET LOCAL statement_timeout = 0")
    if not advisory_locks.try_lock(number):
        raise OccupiedError
