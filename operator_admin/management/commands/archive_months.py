"""`manage.py archive_months`: dumps old months, then drops their tables."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection
from django.utils import timezone

from operator_admin import archives
from operator_admin.archives import blockers
from operator_admin.backup import BackupError
from storage.months import old_months
from storage.months.calendar import next_month, previous_month
from storage.months.partitions import TABLES, partition
from storage.schema_changes.runs import LocksNotAvailableError, one_run, timeouts
from storage.statements.queries import fetch_value

_OWNS = """
SELECT pg_has_role(relowner, 'USAGE') AND has_database_privilege(current_database(), 'CREATE')
FROM pg_class WHERE oid = 'channels_message'::regclass
"""
_SIZE = """
SELECT COALESCE(sum(pg_total_relation_size(to_regclass(name))), 0)
FROM unnest(%s::text[]) AS name
"""
OWNER = "Run it as the role that owns the tables, like `migrate`, and may create schemas."
NO_DIRECTORY = "Name an existing directory that can be written to: --directory, or ARCHIVE_DIR."


class Command(BaseCommand):
    help = (
        "Archive the months that MESSAGES_KEPT_MONTHS no longer keeps, and drop their tables. Run "
        "it as the role that owns the tables. A run that was interrupted is finished by the next. "
        "See docs/operations/archives.md."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--directory", type=Path, help="target; default: ARCHIVE_DIR")
        parser.add_argument("--before", help="YYYY-MM: older months, whatever the setting says")
        parser.add_argument("--dry-run", action="store_true", help="only say what would be done")
        parser.add_argument("--verify", action="store_true", help="only check the archives")
        parser.add_argument("--restore", type=Path, metavar="FILE", help="into a schema of its own")
        parser.add_argument("--programs", type=Path, help="the folder that has pg_dump")

    def handle(self, *args: Any, **options: Any) -> None:
        newest = _newest_to_archive(options["before"])
        due = archives.due(newest) if newest else []
        if options["dry_run"]:
            self._describe(due)
            return
        with self._as_owner():
            if path := options["restore"]:
                schema = archives.restore(path, options["programs"])
                self._say(f"{path}: restored into the schema {schema}")
                return
            directory = _directory(options["directory"])
            archive = archives.Archive(directory, options["programs"], self._say)
            if options["verify"]:
                self._verify(list(archive.faults()))
                return
            for month in dict.fromkeys([*archives.unfinished(), *due]):
                self._say(f"{month:%Y-%m}: {archive.add(month)}")

    def _describe(self, due: list[date]) -> None:
        for month in due:
            reasons = "; ".join(blockers(month)) or "can be archived"
            self._say(f"{month:%Y-%m}, {_bytes(month) / 1e6:.1f} MB: {reasons}")

    def _verify(self, wrong: list[str]) -> None:
        for line in wrong:
            self._say(line)
        if wrong:
            raise CommandError(f"{len(wrong)} archives are damaged")
        self._say("Every archive is intact and has the sums of the books.")

    @contextmanager
    def _as_owner(self) -> Iterator[None]:
        if not fetch_value(_OWNS):
            raise CommandError(OWNER)
        try:
            with timeouts(connection, lock=archives.LOCK_TIMEOUT), one_run(connection, self._say):
                yield
        except LocksNotAvailableError as error:
            raise CommandError(f"The tables were in use all the time: {error.__cause__}") from error
        except (BackupError, OSError) as error:
            raise CommandError(str(error)) from error

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def _newest_to_archive(before: str | None) -> date | None:
    """The newest month to be archived; None if all are kept."""
    oldest_kept = old_months.newest_to_archive(settings.MIN_KEPT_MONTHS, timezone.now())
    if before is None:
        months = settings.MESSAGES_KEPT_MONTHS
        return old_months.newest_to_archive(months, timezone.now()) if months else None
    try:
        month = datetime.strptime(f"{before}+0000", "%Y-%m%z").date()
        newest = previous_month(month)
    except (ValueError, OverflowError):  # nothing is before the year 1
        raise CommandError("--before is a month, such as 2026-05") from None
    if month > next_month(oldest_kept):
        raise CommandError(
            f"Messages of {oldest_kept:%Y-%m} and later may still change: --before "
            f"{next_month(oldest_kept):%Y-%m} at the latest."
        )
    return newest


def _directory(option: Path | None) -> Path:
    directory = (option or Path(settings.ARCHIVE_DIR or "/nowhere")).absolute()
    if not os.access(directory, os.W_OK):
        raise CommandError(NO_DIRECTORY)
    return directory


def _bytes(month: date) -> int:
    names = [partition(table.name, month) for table in TABLES]
    return int(fetch_value(_SIZE, [names]))
