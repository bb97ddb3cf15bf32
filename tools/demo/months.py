"""Partitions of a made-up history: earlier months, and months filled without their indexes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from psycopg_pool import ConnectionPool

from storage.months.calendar import next_month
from storage.months.partitions import LOCK_TIMEOUT, TABLES, MonthlyTable, bound, month_named
from storage.statements.named_rows import fetch_all

_OLDEST = """
SELECT c.relname, pg_get_expr(c.relpartbound, c.oid) FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = %s::regclass AND c.relname ~ '_[0-9]{4}_[0-9]{2}$' ORDER BY c.relname LIMIT 1"""


def create_earlier(first: date) -> int:
    """Creates the partitions from this month on where missing; returns their number."""
    return sum(_create_months_of(table, first.replace(day=1)) for table in TABLES)


@transaction.atomic
def _create_months_of(table: MonthlyTable, first: date) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
        cursor.execute(_OLDEST, [table.name])
        oldest, bounds = cursor.fetchone()
        months = _months(first, month_named(oldest))
        if not months or _has_earlier_rows(cursor, table, oldest):
            return 0
        until = bounds.rsplit("TO (", 1)[1].rstrip(")")
        _reattach(cursor, table, oldest, bound(table, month_named(oldest)), until)
        for month in months:
            cursor.execute("SELECT create_month_partition(%s::regclass, %s)", [table.name, month])
        until = bound(table, next_month(first))
        _reattach(cursor, table, f"{table.name}_{first:%Y_%m}", "MINVALUE", until)
        return len(months)


def _has_earlier_rows(cursor: CursorWrapper, table: MonthlyTable, oldest: str) -> bool:
    start = bound(table, month_named(oldest))
    cursor.execute(f"SELECT EXISTS (SELECT FROM {oldest} WHERE {table.key} < {start})")  # noqa: S608
    return bool(cursor.fetchone()[0])


def _reattach(
    cursor: CursorWrapper, table: MonthlyTable, partition: str, since: str, until: str
) -> None:
    cursor.execute(f"ALTER TABLE {table.name} DETACH PARTITION {partition}")
    cursor.execute(
        f"ALTER TABLE {table.name} ATTACH PARTITION {partition}"
        f" FOR VALUES FROM ({since}) TO ({until})"
    )


def _months(first: date, end: date) -> list[date]:
    months = []
    while first < end:
        months.append(first)
        first = next_month(first)
    return months


_MEMORY = "256MB"  # for sorting what an index is built of
_ARE_THERE = "SELECT bool_and(to_regclass(name) IS NOT NULL) FROM unnest(%s::text[]) AS n(name)"
_CONNECTIONS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend'"""
_PARTITION = """
SELECT c.relname AS name, pg_get_expr(c.relpartbound, c.oid) AS bounds,
  pg_get_partition_constraintdef(c.oid) AS condition
FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = %s::regclass AND c.relname = %s"""
_INDEXES = """
SELECT c.relname AS name, pg_get_indexdef(x.indexrelid) AS definition,
  COALESCE(o.conname, '') AS constraint,
  NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = x.indexrelid) AS is_local
FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
LEFT JOIN pg_constraint o ON o.conindid = x.indexrelid AND o.conrelid = x.indrelid
WHERE x.indrelid = %s::regclass"""
_SEQUENCES = """
SELECT attname AS column, pg_get_serial_sequence(attrelid::regclass::text, attname) AS sequence
FROM pg_attribute WHERE attrelid = %s::regclass AND attidentity <> ''"""


@dataclass(frozen=True, slots=True)
class _Partition:
    """`bounds` as ATTACH takes them, and the same as a condition."""

    name: str
    bounds: str
    condition: str


@dataclass(frozen=True, slots=True)
class _Index:
    """`is_local`: the table has none of it, so attaching does not build it."""

    name: str
    definition: str
    constraint: str
    is_local: bool


@dataclass(frozen=True, slots=True)
class _Sequence:
    column: str
    sequence: str


def is_possible(month: date, tables: Sequence[str]) -> bool:
    """If the month has partitions of its own, and nobody would wait for them."""
    with connection.cursor() as cursor:
        cursor.execute(_ARE_THERE, [[_name(table, month) for table in tables]])
        return bool(cursor.fetchone()[0]) and is_alone()


def is_alone() -> bool:
    """Whether no other process is connected to this database."""
    pool: ConnectionPool | None = connection.pool  # type: ignore[attr-defined]  # PostgreSQL's
    size = pool.get_stats()["pool_size"] if pool else 1
    with connection.cursor() as cursor:
        cursor.execute(_CONNECTIONS)
        return bool(cursor.fetchone()[0] <= size)


@contextmanager
def detached(month: date, *tables: str) -> Iterator[Mapping[str, str]]:
    """Yields the month's partition of each table, to be filled in the same transaction. Nobody else
    can use these tables until its end.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
        cursor.execute(f"LOCK TABLE {', '.join(tables)} IN ACCESS EXCLUSIVE MODE")
        partitions = {table: _partition(cursor, table, month) for table in tables}
        local = {table: _detach(cursor, table, partitions[table]) for table in tables}
        yield {table: partition.name for table, partition in partitions.items()}
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute(f"SET LOCAL maintenance_work_mem = '{_MEMORY}'")
        for table in tables:
            for definition in local[table]:
                cursor.execute(definition)
            _attach(cursor, table, partitions[table])


def _partition(cursor: CursorWrapper, table: str, month: date) -> _Partition:
    cursor.execute(_PARTITION, [table, _name(table, month)])
    (partition,) = fetch_all(cursor, _Partition)
    return partition


def _name(table: str, month: date) -> str:
    return f"{table}_{month:%Y_%m}"


def _detach(cursor: CursorWrapper, table: str, partition: _Partition) -> list[str]:
    """Returns the definitions of the indexes that attaching does not build."""
    name = partition.name
    cursor.execute(_INDEXES, [name])
    indexes = fetch_all(cursor, _Index)
    cursor.execute(_SEQUENCES, [table])
    sequences = fetch_all(cursor, _Sequence)
    cursor.execute(f"ALTER TABLE {table} DETACH PARTITION {name}")
    for index in indexes:
        if index.constraint:
            cursor.execute(f'ALTER TABLE {name} DROP CONSTRAINT "{index.constraint}"')
        else:
            cursor.execute(f'DROP INDEX "{index.name}"')
    for each in sequences:  # an identity is the table's alone
        following = f"nextval('{each.sequence}')"
        cursor.execute(f'ALTER TABLE {name} ALTER "{each.column}" SET DEFAULT {following}')
    # Else attaching would read every row.
    cursor.execute(f"ALTER TABLE {name} ADD CONSTRAINT bound CHECK ({partition.condition})")
    return [index.definition for index in indexes if index.is_local]


def _attach(cursor: CursorWrapper, table: str, partition: _Partition) -> None:
    name = partition.name
    cursor.execute(_SEQUENCES, [table])
    for each in fetch_all(cursor, _Sequence):
        cursor.execute(f'ALTER TABLE {name} ALTER "{each.column}" DROP DEFAULT')
    cursor.execute(f"ALTER TABLE {table} ATTACH PARTITION {name} {partition.bounds}")
    cursor.execute(f"ALTER TABLE {name} DROP CONSTRAINT bound")
