"""Erases the data about one person (GDPR art. 17, 152-ФЗ art. 14 and 21).

Rows that the ledger, the limits on guesses or the statistics need stay, without the phone and the
texts sent to it; `persons.columns` says which columns stay and why.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from math import ceil
from typing import Any

import structlog
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.utils import timezone

from accounts.audit import record
from accounts.jobs import delete_with_parts
from accounts.models import Company, CsvExport, Mode, User
from channels.accept import send_limits
from channels.models import RouterState
from channels.phone_numbers import spellings
from channels.routing.learned import phone_memories
from links.clicks import clickhouse_sink as clicks_in_clickhouse
from links.follow import resolution
from links.models import Link
from persons import erasure_list, sql
from persons.erasure_list import find_erased, missing_keys
from persons.models import CompanyExport
from persons.person import (
    Person,
    Rows,
    find_rows,
    find_rows_and_links,
    lift_timeout,
    phone_parameters,
)

log = structlog.get_logger(__name__)


class NotFinishedError(Exception):
    """The person's data is still in use.

    A message to the person is open, a code can still be entered, or its outcome still counts.
    """

    def __init__(self, until: datetime) -> None:
        super().__init__(until)
        self.until = until

    @property
    def seconds(self) -> int:
        return max(1, ceil((self.until - timezone.now()).total_seconds()))


@transaction.atomic
def erase(
    *,
    person: Person,
    user: User | None = None,
    ip: str | None = None,
    until: datetime | None = None,
) -> dict[str, int]:
    """Erases a person's data; returns the number of changed rows by kind.

    Raises NotFinishedError and changes nothing while the data is in use.

    `until` spares newer messages when an erasure is repeated after a restore.
    """
    waits_for = ["erasable_at", *([] if person.is_everywhere else ["counted_until"])]
    rows, counts = _erase(person, waits_for, until, find_rows_and_links)
    _record(person, rows, user, ip)
    return counts


@transaction.atomic
def erase_with_company(person: Person) -> None:
    """Erases a person's data as part of deleting a company; raises NotFinishedError.

    The audit log has one event for all persons. No key is left to guess codes with, so wrong codes
    need not be counted any longer; the deletion erases all links of the company itself.
    """
    _erase(person, ["erasable_at"], None, find_rows)


def _erase(
    person: Person, waits_for: Sequence[str], until: datetime | None, find: Callable[..., Rows]
) -> tuple[Rows, dict[str, int]]:
    with connection.cursor() as cursor:
        lift_timeout(cursor)
        cursor.execute(sql.PERSON["lock_imports"], person.params)
        rows = find(cursor, person, until=until)
        for statement in sql.LOCKS:
            cursor.execute(statement, rows.params)
        _raise_if_open(cursor, waits_for, rows)
        links = list(Link.objects.filter(pk__in=rows.links))
        resolution.invalidate_before_commit(*links)
        counts = _erase_rows(cursor, person, rows, until)
    is_found = (
        rows.messages or rows.links or rows.unmade or any(counts[name] for name in sql.WHOLE_PHONES)
    )
    if until is None and (is_found or person.is_everywhere):
        erasure_list.add(person)
    transaction.on_commit(partial(_after_commit, person, rows.companies, links))
    return rows, counts


def _raise_if_open(cursor: CursorWrapper, waits_for: Sequence[str], rows: Rows) -> None:
    for name in waits_for:
        cursor.execute(sql.PERSON[name], rows.params)
        (until,) = cursor.fetchone()
        if until is not None:
            raise NotFinishedError(until)


def _erase_rows(
    cursor: CursorWrapper, person: Person, rows: Rows, until: datetime | None
) -> dict[str, int]:
    params: dict[str, Any] = person.params | rows.params | {"until": until}
    cursor.execute(sql.PERSON["event_ids"], params)
    params["events"] = [event_id for (event_id,) in cursor.fetchall()]
    statements = sql.ERASE | (sql.ERASE_EVERYWHERE if person.is_everywhere else {})
    counts = {}
    for name, statement in statements.items():
        phones = spellings(person.phone) if sql.uses_phone(statement) else [person.phone]
        counts[name] = 0
        for phone in phones:
            cursor.execute(statement, params | phone_parameters(phone))
            counts[name] += cursor.rowcount
    if (rows.messages and person.mode != Mode.TEST) or person.is_everywhere:
        # Smart routing's memory of this phone, which only live messages taught. The lock waits for
        # a running learning step, which would write it again.
        list(RouterState.objects.select_for_update())
        counts["routing_memory"] = sum(map(phone_memories.forget, spellings(person.phone)))
    _discard_files(rows.companies)
    clicks_in_clickhouse.note_erasure(cursor, rows.links)
    return counts


def _discard_files(companies: Sequence[int]) -> None:
    """Deletes the export files of these companies, which may contain the person."""
    for model in (CsvExport, CompanyExport):
        delete_with_parts(model.objects.filter(company_id__in=companies))


def _record(person: Person, rows: Rows, user: User | None, ip: str | None) -> None:
    """Records the erasure in the audit logs of the service and every company with changed rows."""
    companies = Company.objects.filter(pk__in=rows.companies)
    if person.is_everywhere:
        record("person.erased", person.anonymised, company=None, user=user, ip=ip)
    for company in companies:
        record("person.erased", person.anonymised, company=company, user=user, ip=ip)


def _after_commit(person: Person, companies: Sequence[int], links: list[Link]) -> None:
    _discard_files(companies)  # again: a file may have been begun meanwhile, from the old rows
    resolution.invalidate_after_commit(*links)
    if person.is_everywhere:
        for phone in spellings(person.phone):
            send_limits.forget(phone)
    log.info("person_erased", company=person.company_id, links=len(links))


@dataclass(frozen=True, slots=True)
class Reapplication:
    erased: int  # persons
    unfinished: int  # persons whose messages are open again: run it again when these have ended
    unknown: int  # entries whose key is no longer in WEBHOOK_KEYS


def reapply_erasures() -> Reapplication:
    """Repeats erasures after a restore, once the list itself is complete again; safe to repeat.

    Messages newer than an erasure stay: the person has come back.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:
            lift_timeout(cursor)
        persons = list(find_erased())
    erased = 0
    unfinished = 0
    for person, erased_at in persons:
        try:
            counts = erase(person=person, until=erased_at)
            erased += any(counts.values())
        except NotFinishedError:
            unfinished += 1
    return Reapplication(erased, unfinished, missing_keys())
