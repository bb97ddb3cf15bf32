"""A month of a separate table: of others, what earlier tests did may be counted late."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from django.utils import timezone

from storage.months import partitions
from storage.months.partitions import MonthlyTable
from tests.sql import execute


@dataclass(frozen=True, slots=True)
class YoungMonth:
    name: str

    def add(self, count: int) -> None:
        execute("INSERT INTO scratch SELECT generate_series(1, %s)", [count])
        execute("SELECT pg_stat_force_next_flush()")

    @property
    def known_rows(self) -> int:
        """Returns the number of rows that PostgreSQL last counted."""
        return int(execute("SELECT reltuples FROM pg_class WHERE relname = %s", [self.name])[0][0])


@pytest.fixture
def young_month(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[YoungMonth]:
    month = f"scratch_{timezone.now():%Y_%m}"
    monkeypatch.setattr(partitions, "TABLES", (MonthlyTable("scratch", "id"),))
    execute("CREATE TABLE scratch (id int) PARTITION BY RANGE (id)")
    execute(f"CREATE TABLE {month} PARTITION OF scratch DEFAULT")
    execute(f"ALTER TABLE {month} SET (autovacuum_enabled = off)")
    yield YoungMonth(month)
    execute("DROP TABLE scratch")
