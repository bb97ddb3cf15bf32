"""Archives whole months, oldest first. A run that was killed anywhere is finished by the next.

detached, with its sums in the books → files written → compared with the tables → tables dropped
"""

from collections.abc import Iterator
from datetime import date
from pathlib import Path

from django.db import connection, transaction
from django.utils import timezone

from billing.models import ArchivedMonth
from config.storage.migration_locks import Say
from config.storage.months import closed_months
from operator_admin.archive import ArchiveError, writing
from operator_admin.archive.closing import close
from operator_admin.archive.obstacles import obstacles
from operator_admin.archive.tables import TABLES

BATCH = 5000

_DELETE = "DELETE FROM {table} WHERE id IN (SELECT id FROM {table} WHERE {condition} LIMIT %s)"


def unfinished() -> list[date]:
    rows = ArchivedMonth.objects.filter(dropped_at=None).order_by("month")
    return list(rows.values_list("month", flat=True))


def due(newest: date) -> list[date]:
    return [month for month in closed_months.attached_months() if month <= newest]


def archive(month: date, directory: Path, say: Say) -> Path:
    """Returns where the month's files are. Raises ArchiveError, and leaves what is done."""
    if not ArchivedMonth.objects.filter(pk=month).exists():
        if found := list(obstacles(month)):
            raise ArchiveError(f"{month:%Y-%m} stays: {'; '.join(found)}")
        close(month, say)
    row = ArchivedMonth.objects.get(pk=month)
    if not row.manifest:
        place, row.manifest = writing.write(month, directory)
        row.directory = str(place)
        _record(row)
    _drop(month)
    return Path(row.directory)


def verify(directory: Path) -> Iterator[str]:
    """Reads every archive again; yields what is wrong."""
    for row in ArchivedMonth.objects.exclude(manifest="").order_by("month"):
        place = directory / f"{row.month:%Y-%m}"
        try:
            if writing.check_files(place) != row.manifest:
                yield f"{place}: its manifest is not the one that the database knows"
            writing.check_sums(row.month, place)
        except (ArchiveError, OSError) as error:
            yield str(error)


@transaction.atomic
def _record(row: ArchivedMonth) -> None:
    row.save(update_fields=["directory", "manifest"])


def _drop(month: date) -> None:
    for table in TABLES:
        if not table.is_monthly:
            _delete(table.name, table.condition(month))
    with transaction.atomic():
        closed_months.drop(month)
        ArchivedMonth.objects.filter(pk=month).update(dropped_at=timezone.now())


def _delete(table: str, condition: str) -> None:
    statement = _DELETE.format(table=table, condition=condition)
    with connection.cursor() as cursor:
        deleted = BATCH
        while deleted == BATCH:
            cursor.execute(statement, [BATCH])
            deleted = cursor.rowcount
