"""The history that is archived during a run, and what must have become of it."""

from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

from django.core.management import CommandError, call_command
from django.db import connection, transaction

from billing.models import ArchivedMonth
from billing.wallet import ledger
from config.storage.months import closed_months
from config.storage.months.calendar import next_month
from tests.factories import CompanyFactory
from tools.chaos.checks.verdicts import Finding
from tools.chaos.faults.archiver import Archiver, start_of
from tools.demo import earlier_months, past_transfers

MONTHS, MESSAGES = 3, 12_000  # that are archived; of each

_MESSAGES = """
INSERT INTO channels_message (id, company_id, mode, kind, content, channel, chain, phone,
  subject_id, params, locale, request_id, state, tries, price, priority, created_at, due_at,
  useful_until, deadline, sent_at, delivered_at, finished_at)
SELECT (left(uuid7_at(at)::text, 24) || lpad(to_hex(n), 12, '0'))::uuid, %(company)s, 'live',
  'code', 'code', 'sms', '[]', '+7916*', gen_random_uuid(), '{}', 'ru', '', 'delivered', 1, 16, 0,
  at, NULL, at, at, at, at, at
FROM generate_series(1, %(count)s) AS n, LATERAL (
  SELECT %(start)s::timestamptz + n * (%(end)s::timestamptz - %(start)s) / (%(count)s + 1) AS at
) AS t
"""
_ATTEMPTS = """
INSERT INTO channels_attempt (id, message_id, n, hold, price, channel, provider, provider_id,
  state, started_at, accepted_at, finished_at)
SELECT gen_random_uuid(), id, 1, 1, 16, 'sms', 'smsc', id::text, 'delivered', created_at,
  created_at, created_at
FROM channels_message WHERE company_id = %(company)s AND created_at >= %(start)s
"""
_TRANSFERS = """
SELECT m.company_id, t.kind, 16 AS amount, NULL::text AS key, m.id AS message_id, 1 AS hold,
  t.proof, '' AS reason, m.created_at + t.later AS created_at
FROM channels_message m, (VALUES ('hold', '', interval '0'), ('capture', 'receipt', interval '9 s'))
  AS t(kind, proof, later)
WHERE m.company_id = %(company)s AND m.created_at >= %(start)s AND m.created_at < %(end)s
"""


def seed(now: datetime) -> date:
    """Messages of months that can be archived; returns the month after the last of them."""
    month = closed_months.newest_to_archive(4 + MONTHS - 1, now)
    earlier_months.create(month)
    company = CompanyFactory.create(name="History")
    ledger.grant(company=company, amount=MONTHS * MESSAGES * 16 + 5, reason="chaos")
    for _number in range(MONTHS):
        after = next_month(month)
        params: dict[str, Any] = {"company": company.pk, "count": MESSAGES}
        params |= {"start": start_of(month), "end": start_of(after)}
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_MESSAGES, params)
            cursor.execute(_ATTEMPTS, params)
            past_transfers.book(cursor, _TRANSFERS, params)
        month = after
    return month


def findings(archiver: Archiver, *, is_finished: bool) -> Iterator[Finding]:
    wrong = [] if is_finished else ["the last run failed: see archiver.log"]
    wrong += [f"{month:%Y-%m} is attached" for month in _left(archiver.before)]
    done = ArchivedMonth.objects.exclude(dropped_at=None).count()
    wrong += [] if done == MONTHS else [f"{done} months are archived instead of {MONTHS}"]
    if len(_months_of_now()) < 2:
        wrong.append("no message of the load lies in the month that began")
    yield Finding("archives", f"old months leave whole, after {archiver.kills} kills", wrong)
    damages = _damages(archiver.directory)
    yield Finding("archives proved", "their files have what was sealed", damages)


def _months_of_now() -> list[str]:
    """The partitions of the messages that are left: those of the load."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT tableoid::regclass::text FROM channels_message")
        return [name for (name,) in cursor.fetchall()]


def _left(before: date) -> list[date]:
    return [month for month in closed_months.attached_months() if month < before]


def _damages(directory: Path) -> list[str]:
    try:
        call_command("archive_months", verify=True, directory=directory)
    except CommandError as error:
        return [str(error)]
    return []
