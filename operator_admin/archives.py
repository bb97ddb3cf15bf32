"""Archives whole months, oldest first; the next run continues a killed one where it stopped.

A month is archived once none of its rows can change:
detached, with its sums in the books → copied without personal data → dumped → restored and compared
with the tables → SHA-256 recorded → file renamed → tables dropped
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from billing.models import ArchivedMonth
from channels.reconciliation import CHECKS
from operator_admin import archive_dumps
from operator_admin.archive_dumps import SUMS
from operator_admin.backup import BackupError
from operator_admin.backup.manifest import sha256
from storage.months import old_months
from storage.months.old_months import attached_months, is_attached
from storage.months.partitions import TABLES, partition
from storage.schema_changes.runs import Say, retry

# Each counts rows that block the month. Types are explicit, since the application's role may create
# operators in `public`, and these queries run as the owner.
_COUNTS = {
    "open messages": """
        SELECT count(*) FROM channels_message WHERE is_owed OR due_at IS NOT NULL
          OR state::text = ANY(ARRAY['queued', 'sent']::text[])""",
    "attempts under way": """
        SELECT count(*) FROM channels_attempt
        WHERE poll_at IS NOT NULL OR state::text = 'submitting'::text""",
    "codes that are not settled": """
        SELECT count(*) FROM otp_verification
        WHERE verified_at IS NOT NULL AND settled_at IS NULL""",
    "holds that are not settled": """
        SELECT count(*) FROM (
          SELECT FROM billing_transfer GROUP BY message_id, hold HAVING count(*) <> 2
            OR count(*) FILTER (WHERE kind::text = 'hold'::text) <> 1) AS open""",
    "transfers that are not sealed": """
        SELECT count(*) FROM billing_transfer WHERE (created_at AT TIME ZONE 'UTC')::date
          > COALESCE((SELECT max(day) FROM billing_sealedday), '-infinity'::date)""",
    "messages with a phone": """
        SELECT count(*) FROM channels_message WHERE phone::text NOT LIKE '%*'::text""",
    "codes with a phone": """
        SELECT count(*) FROM otp_verification WHERE phone::text NOT LIKE '%*'::text""",
    "receipts": "SELECT count(*) FROM channels_receipt",
    "events": "SELECT count(*) FROM webhooks_event",
}
# Checks of the books that need the month's rows.
_PROOFS = {
    f"breaches: {name}": f"SELECT count(*) FROM ({query}) AS breach"  # noqa: S608 - constants
    for name, query in CHECKS.items()
    if "{messages}" in query
}
_PURGED = {"messages with a phone", "codes with a phone", "receipts", "events"}
GIVE_UP_AFTER = 900.0  # seconds
# Seconds, for each of six tables: together less than the service's own limit of 3 s, and each less
# than `deadlock_timeout`, so that no other session becomes a deadlock's victim.
LOCK_TIMEOUT = 0.15

_RECORD_SUMS = f"""
INSERT INTO billing_archivedsum (month_id, company_id, kind, transfers, tokens, last_at) {SUMS}
"""
_NEWEST = "SELECT COALESCE(max(id), 0) FROM {transfers}"


def blockers(month: date) -> Iterator[str]:
    """The reasons why a month cannot be archived, as text."""
    absent = [table.name for table in TABLES if not is_attached(table.name, month)]
    if absent:
        yield f"no month of its own in {', '.join(absent)}"
        return
    if (first := attached_months()[0]) != month:
        yield f"{first:%Y-%m} is older and comes first"
    names = {table.name: partition(table.name, month) for table in TABLES}
    with connection.cursor() as cursor:
        for name, query in (_COUNTS | _PROOFS).items():
            cursor.execute(_on_partitions(query, names))
            (count,) = cursor.fetchone()
            if count:
                yield f"{count} {name}{_remedy(name)}"


def _on_partitions(query: str, names: dict[str, str]) -> str:
    for table, name in names.items():
        query = query.replace(table, name)
    return re.sub(r"{(messages|transfers|attempts)}", "TRUE", query)


def _remedy(name: str) -> str:
    if name not in _PURGED:
        return ""
    days = settings.RAW_RETENTION if name in {"receipts", "events"} else settings.PHONE_RETENTION
    return f", which the hourly purge removes after {days} days: does the beat run?"


def close(month: date, say: Say) -> None:
    """Detaches the month and records its sums, so wallets still match their transfers."""
    retry(lambda: _close(month), give_up_after=GIVE_UP_AFTER, say=say)


@transaction.atomic
def _close(month: date) -> None:
    transfers = partition("billing_transfer", month)
    with connection.cursor() as cursor:
        cursor.execute(_NEWEST.format(transfers=transfers))
        (newest,) = cursor.fetchone()
        ArchivedMonth.objects.create(month=month)
        cursor.execute(_RECORD_SUMS.format(transfers=transfers), [month])
        old_months.detach(month)
        cursor.execute(_NEWEST.format(transfers=transfers))
        if cursor.fetchone() != (newest,):
            raise BackupError(f"a transfer was added to {month:%Y-%m}: run the command again")


def unfinished() -> list[date]:
    rows = ArchivedMonth.objects.filter(dropped_at=None).order_by("month")
    return list(rows.values_list("month", flat=True))


def due(newest: date) -> list[date]:
    return [month for month in attached_months() if month <= newest]


@dataclass(frozen=True, slots=True)
class Archive:
    """The folder of the files, and the programs that write and read them."""

    directory: Path
    programs: Path | None
    say: Say

    def add(self, month: date) -> Path:
        """Archives a month and returns its file; finished steps stay done after a BackupError."""
        if not ArchivedMonth.objects.filter(pk=month).exists():
            if reasons := list(blockers(month)):
                raise BackupError(f"{month:%Y-%m} stays: {'; '.join(reasons)}")
            close(month, self.say)
        row = ArchivedMonth.objects.get(pk=month)
        path = self._file(month)
        if not row.sha256:
            if path.exists():
                raise BackupError(f"{path} is there already: move it away, and run this again")
            row.sha256 = self._dump(month, archive_dumps.partial(path))
            row.save(update_fields=["sha256"])
        archive_dumps.finish(path, row.sha256)
        drop(month)
        return path

    def faults(self) -> Iterator[str]:
        """Restores every archive temporarily; yields the faults."""
        for row in ArchivedMonth.objects.exclude(sha256="").order_by("month"):
            path = self._file(row.month)
            try:
                archive_dumps.require_digest(path, row.sha256)
                with archive_dumps.restored(row.month, path, self.programs):
                    archive_dumps.check_books(row.month, path)
            except (BackupError, OSError) as error:
                yield str(error)

    def _file(self, month: date) -> Path:
        return self.directory / f"{month:%Y-%m}.dump"

    def _dump(self, month: date, path: Path) -> str:
        """Writes the month's file and verifies it; returns its SHA-256."""
        archive_dumps.drop(month)  # left by a run that was killed
        archive_dumps.create(month)
        archive_dumps.write(month, path, self.programs)
        archive_dumps.drop(month)
        with archive_dumps.restored(month, path, self.programs):
            if faults := archive_dumps.differences(month):
                raise BackupError(f"{path} differs from the tables in {', '.join(faults)}")
            archive_dumps.check_books(month, path)
        return sha256(path)


def restore(path: Path, programs: Path | None) -> str:
    """Restores an archive; returns the schema with the month's tables."""
    row = ArchivedMonth.objects.filter(sha256=sha256(path)).first()
    if row is None:
        raise BackupError(f"{path} is not an archive recorded in this database")
    archive_dumps.restore(path, programs)
    archive_dumps.check_books(row.month, path)
    return archive_dumps.schema(row.month)


@transaction.atomic
def drop(month: date) -> None:
    """Deletes the rows and tables that are in the file."""
    archive_dumps.delete_originals(month)
    old_months.drop(month)
    ArchivedMonth.objects.filter(pk=month).update(dropped_at=timezone.now())
