"""Archives whole months, oldest first. A run that was killed anywhere is finished by the next.

detached, with its sums in the books → copied without persons → dumped → restored and compared with
the tables → SHA-256 recorded → file renamed → tables dropped
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from django.db import transaction
from django.utils import timezone

from billing.models import ArchivedMonth
from operator_admin.archive import ArchiveError, dumps
from operator_admin.archive.closing import blockers, close
from operator_admin.backup import BackupError
from operator_admin.backup.manifest import sha256
from storage.migration_runs import Say
from storage.months import partitions


def unfinished() -> list[date]:
    rows = ArchivedMonth.objects.filter(dropped_at=None).order_by("month")
    return list(rows.values_list("month", flat=True))


def due(newest: date) -> list[date]:
    return [month for month in partitions.attached_months() if month <= newest]


@dataclass(frozen=True, slots=True)
class Archive:
    """Where the files are, and the programs that write and read them."""

    directory: Path
    programs: Path | None
    say: Say

    def add(self, month: date) -> Path:
        """Returns the month's file. Raises ArchiveError, and leaves what is done."""
        if not ArchivedMonth.objects.filter(pk=month).exists():
            if reasons := list(blockers(month)):
                raise ArchiveError(f"{month:%Y-%m} stays: {'; '.join(reasons)}")
            close(month, self.say)
        row, path = ArchivedMonth.objects.get(pk=month), self._file(month)
        if not row.sha256:
            if path.exists():
                raise ArchiveError(f"{path} is there already: move it away, and run this again")
            row.sha256 = self._dump(month, dumps.partial(path))
            row.save(update_fields=["sha256"])
        dumps.finish(path, row.sha256)
        drop(month)
        return path

    def faults(self) -> Iterator[str]:
        """Restores every archive for a moment; yields what is wrong."""
        for row in ArchivedMonth.objects.exclude(sha256="").order_by("month"):
            path = self._file(row.month)
            try:
                dumps.require(path, row.sha256)
                with dumps.restored(row.month, path, self.programs):
                    dumps.check_books(row.month, path)
            except (ArchiveError, BackupError, OSError) as error:
                yield str(error)

    def _file(self, month: date) -> Path:
        return self.directory / f"{month:%Y-%m}.dump"

    def _dump(self, month: date, path: Path) -> str:
        """Writes the month's file and proves it; returns its SHA-256."""
        dumps.drop(month)  # of a run that was killed
        dumps.create(month)
        dumps.write(month, path, self.programs)
        dumps.drop(month)
        with dumps.restored(month, path, self.programs):
            if faults := dumps.differences(month):
                raise ArchiveError(f"{path} differs from the tables in {', '.join(faults)}")
            dumps.check_books(month, path)
        return sha256(path)


def restore(path: Path, programs: Path | None) -> str:
    """Returns the schema that has the month's tables then."""
    row = ArchivedMonth.objects.filter(sha256=sha256(path)).first()
    if row is None:
        raise ArchiveError(f"{path} is no archive that this database has recorded")
    dumps.restore(path, programs)
    dumps.check_books(row.month, path)
    return dumps.schema(row.month)


@transaction.atomic
def drop(month: date) -> None:
    """The rows and tables that are in the file."""
    dumps.delete_originals(month)
    partitions.drop(month)
    ArchivedMonth.objects.filter(pk=month).update(dropped_at=timezone.now())
