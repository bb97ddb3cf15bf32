"""Tables partitioned by month: converts them, and creates months before they are needed.

The months of a table follow its partition key: a UUIDv7, whose first 48 bits are a time, or a time
itself. What belongs to a message has the message's id as its key, so a month of messages is a month
of everything about them. Months are those of UTC.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db import OperationalError, connection, transaction
from django.db.backends.utils import CursorWrapper
from django.utils import timezone

from config.storage.statements.named_rows import fetch_all

MONTHS_AHEAD = 3
LOCK_TIMEOUT = "2s"


@dataclass(frozen=True, slots=True)
class MonthlyTable:
    """`key` is its partition key. Rows whose key is NULL go to a default partition."""

    name: str
    key: str
    has_null_keys: bool = False


TABLES = (
    MonthlyTable("channels_message", "id"),
    MonthlyTable("channels_attempt", "message_id"),
    MonthlyTable("channels_receipt", "received_at"),
    MonthlyTable("otp_verification", "id"),
    MonthlyTable("billing_transfer", "message_id", has_null_keys=True),
    MonthlyTable("accounts_event", "id"),
)


@dataclass(frozen=True, slots=True)
class _Index:
    """An index of a table that is being converted."""

    name: str
    definition: str
    is_unique: bool
    is_primary: bool
    has_key: bool

    @property
    def method_and_columns(self) -> str:
        return self.definition.split(" USING", 1)[1]

    @property
    def is_local(self) -> bool:
        """Unique within a month only: PostgreSQL keeps no uniqueness across partitions."""
        return self.is_unique and not self.has_key


_INDEXES = """
SELECT c.relname AS name, pg_get_indexdef(i.indexrelid) AS definition, i.indisunique AS is_unique,
  i.indisprimary AS is_primary, a.attnum = ANY(i.indkey) AS has_key
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attname = %s
WHERE i.indrelid = %s::regclass ORDER BY c.relname
"""
_IS_PARTITIONED = "SELECT relkind = 'p' FROM pg_class WHERE oid = %s::regclass"
_IDENTITY = """
SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attidentity <> ''
"""
_TRIGGERS = """
SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger
WHERE tgrelid = %s::regclass AND NOT tgisinternal
"""
_KEY_TYPE = """
SELECT format_type(atttypid, NULL) FROM pg_attribute
WHERE attrelid = %s::regclass AND attname = %s
"""
_FOREIGN_KEYS = """
SELECT conrelid::regclass::text, conname FROM pg_constraint
WHERE contype = 'f' AND %s::regclass IN (conrelid, confrelid)
"""
_LAST_MONTHS = """
SELECT p.relname AS table_name, max(c.relname) AS newest
FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
WHERE p.relname = ANY(%s) AND c.relname ~ '_[0-9]{4}_[0-9]{2}$' GROUP BY p.relname
"""

# What a linter of migrations finds in a conversion.
CONVERSION_RULES = (
    "adding-not-nullable-field",
    "ban-drop-constraint",
    "ban-drop-table",
    "prefer-robust-stmts",
    "renaming-object",
    "renaming-table",
    "require-concurrent-index-creation",
    "require-concurrent-index-deletion",
)


def is_partitioned(table: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(_IS_PARTITIONED, [table])
        return bool(cursor.fetchone()[0])


def _is_new_database() -> bool:
    """Where there is a company, processes of the previous release may be at work."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT NOT EXISTS (SELECT FROM accounts_company)")
        return bool(cursor.fetchone()[0])


def convert_if_new(*names: str) -> Callable[[Any, Any], None]:
    """For a migration: a new database gets its months at once, an older one by `manage.py
    partition_tables`, when no process of the previous release runs any longer.
    """

    def run(_apps: Any, _editor: Any) -> None:
        for table in TABLES if _is_new_database() else ():
            if table.name in names and not is_partitioned(table.name):
                convert(table)

    return run


def convert(table: MonthlyTable) -> None:
    """Makes an existing table the first partition of a new one of its name: this month's, which
    keeps all earlier rows. Moves none but those with a NULL key. The last step locks the table.
    """
    month = _month_of(timezone.now())
    with connection.cursor() as cursor:
        _rebuild_indexes(cursor, table)
        _check_bound(cursor, table, _next(month))
        with transaction.atomic():
            cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
            _replace(cursor, table, month)
    create_upcoming([table])


def create_upcoming(tables: Sequence[MonthlyTable] = TABLES) -> int:
    """Creates this month's and the next months' partitions where missing; returns their number."""
    return sum(
        _create(table.name, month)
        for table in tables
        if is_partitioned(table.name)
        for month in _upcoming()
    )


def months_ahead() -> dict[str, int]:
    """By table that is partitioned: how many months after this one exist."""
    names = [table.name for table in TABLES if is_partitioned(table.name)]
    this = _month_of(timezone.now())
    with connection.cursor() as cursor:
        cursor.execute(_LAST_MONTHS, [names])
        newest = dict(cursor.fetchall())
    return {name: _months_between(this, _month_named(newest.get(name))) for name in names}


def _upcoming() -> Iterator[date]:
    month = _month_of(timezone.now())
    for _number in range(MONTHS_AHEAD + 1):
        yield month
        month = _next(month)


def _create(table: str, month: date) -> bool:
    """The database's function may do this although the application does not own the table."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
            cursor.execute("SELECT create_month_partition(%s::regclass, %s)", [table, month])
            return bool(cursor.fetchone()[0])
    except OperationalError:  # a long transaction holds the table: the next hour tries again
        return False


def _rebuild_indexes(cursor: CursorWrapper, table: MonthlyTable) -> None:
    """PostgreSQL prints some conditions so that they are read back in another form. The index of
    the parent would not take over that of the table, and another be built under the lock.
    """
    cursor.execute(f"CREATE TEMPORARY TABLE probe (LIKE {table.name})")
    cursor.execute(_INDEXES, [table.key, table.name])
    for index in fetch_all(cursor, _Index):
        if not index.is_primary and _as_read_back(cursor, index) != index.method_and_columns:
            rebuilt = f"{index.name}_rebuilt"
            cursor.execute(f'DROP INDEX CONCURRENTLY IF EXISTS "{rebuilt}"')
            cursor.execute(_create_index(index, rebuilt, table.name, how="CONCURRENTLY"))
            cursor.execute(f'DROP INDEX CONCURRENTLY "{index.name}"')
            cursor.execute(f'ALTER INDEX "{rebuilt}" RENAME TO "{index.name}"')
    cursor.execute("DROP TABLE probe")


def _as_read_back(cursor: CursorWrapper, index: _Index) -> str:
    cursor.execute(_create_index(index, "probed", "probe"))
    ((definition,),) = _rows(cursor, "SELECT indexdef FROM pg_indexes WHERE indexname = 'probed'")
    cursor.execute("DROP INDEX probed")
    return definition.split(" USING", 1)[1]


def _check_bound(cursor: CursorWrapper, table: MonthlyTable, until: date) -> None:
    """So that attaching the table need not scan it under the lock."""
    name = f"{table.name}_bound"
    bound = _bound(cursor, table, until)
    cursor.execute(f"ALTER TABLE {table.name} DROP CONSTRAINT IF EXISTS {name}")
    cursor.execute(
        f"ALTER TABLE {table.name} ADD CONSTRAINT {name}"
        f" CHECK ({table.key} IS NULL OR {table.key} < {bound}) NOT VALID"
    )
    cursor.execute(f"ALTER TABLE {table.name} VALIDATE CONSTRAINT {name}")


def _replace(cursor: CursorWrapper, table: MonthlyTable, month: date) -> None:
    name, suffix = table.name, f"_{month:%Y_%m}"
    first, bound = name + suffix, _bound(cursor, table, _next(month))
    cursor.execute(f"LOCK TABLE {name} IN ACCESS EXCLUSIVE MODE")
    cursor.execute(_INDEXES, [table.key, name])
    indexes = fetch_all(cursor, _Index)
    triggers = _rows(cursor, _TRIGGERS, name)
    for owner, constraint in _rows(cursor, _FOREIGN_KEYS, name):
        cursor.execute(f'ALTER TABLE {owner} DROP CONSTRAINT "{constraint}"')
    identity = [column for (column,) in _rows(cursor, _IDENTITY, name)]
    last_ids = {column: _last_id(cursor, name, column) for column in identity}
    for column in identity:
        cursor.execute(f'ALTER TABLE {name} ALTER "{column}" DROP IDENTITY')
    cursor.execute(f"ALTER TABLE {name} RENAME TO {first}")
    for index in indexes:
        cursor.execute(f'ALTER INDEX "{index.name}" RENAME TO "{index.name}{suffix}"')
    cursor.execute(
        f"CREATE TABLE {name} (LIKE {first} INCLUDING DEFAULTS INCLUDING CONSTRAINTS)"
        f" PARTITION BY RANGE ({table.key})"
    )
    cursor.execute(f"ALTER TABLE {name} DROP CONSTRAINT {name}_bound")
    for column, last in last_ids.items():
        cursor.execute(
            f'ALTER TABLE {name} ALTER "{column}"'
            f" ADD GENERATED BY DEFAULT AS IDENTITY (START WITH {last + 1})"
        )
    for index in indexes:
        if not index.is_local:
            cursor.execute(_on_parent(index, table))
    if table.has_null_keys:
        local_indexes = [index for index in indexes if index.is_local]
        _move_null_keys(cursor, table, first, local_indexes, triggers)
    cursor.execute(f"ALTER TABLE {first} ALTER {table.key} SET NOT NULL")
    for trigger, _definition in triggers:
        cursor.execute(f'DROP TRIGGER "{trigger}" ON {first}')
    cursor.execute(
        f"ALTER TABLE {name} ATTACH PARTITION {first} FOR VALUES FROM (MINVALUE) TO ({bound})"
    )
    cursor.execute(f"ALTER TABLE {first} DROP CONSTRAINT {name}_bound")
    for _trigger, definition in triggers:
        cursor.execute(definition)


def _move_null_keys(
    cursor: CursorWrapper,
    table: MonthlyTable,
    first: str,
    local_indexes: Sequence[_Index],
    triggers: Sequence[tuple[str, ...]],
) -> None:
    other = f"{table.name}_other"
    cursor.execute(f"CREATE TABLE {other} PARTITION OF {table.name} DEFAULT")
    for index in local_indexes:
        cursor.execute(_create_index(index, f"{index.name}_other", other))
    for trigger, _definition in triggers:
        cursor.execute(f'ALTER TABLE {first} DISABLE TRIGGER "{trigger}"')
    cursor.execute(
        f"WITH moved AS (DELETE FROM {first} WHERE {table.key} IS NULL RETURNING *)"  # noqa: S608
        f" INSERT INTO {other} SELECT * FROM moved"
    )


def _on_parent(index: _Index, table: MonthlyTable) -> str:
    if index.is_primary:
        return f'ALTER TABLE {table.name} ADD CONSTRAINT "{index.name}" PRIMARY KEY ({table.key})'
    return _create_index(index, index.name, table.name)


def _create_index(index: _Index, name: str, table: str, *, how: str = "") -> str:
    unique = "UNIQUE " if index.is_unique else ""
    return f'CREATE {unique}INDEX {how} "{name}" ON {table} USING{index.method_and_columns}'


def _last_id(cursor: CursorWrapper, table: str, column: str) -> int:
    """The sequence's own: the newest row may be gone."""
    cursor.execute("SELECT pg_get_serial_sequence(%s, %s)", [table, column])
    (sequence,) = cursor.fetchone()
    cursor.execute(f"SELECT last_value - (NOT is_called)::int FROM {sequence}")  # noqa: S608
    return int(cursor.fetchone()[0])


def _bound(cursor: CursorWrapper, table: MonthlyTable, month: date) -> str:
    ((key_type,),) = _rows(cursor, _KEY_TYPE, table.name, table.key)
    at = datetime(month.year, month.month, 1, tzinfo=UTC).isoformat()
    cursor.execute(
        "SELECT uuid7_at(%s)::text" if key_type == "uuid" else "SELECT %s::timestamptz::text", [at]
    )
    return f"'{cursor.fetchone()[0]}'"


def _rows(cursor: CursorWrapper, query: str, *params: str) -> list[tuple[str, ...]]:
    cursor.execute(query, params)
    return list(cursor.fetchall())


def _month_of(at: datetime) -> date:
    return at.astimezone(UTC).date().replace(day=1)


def _next(month: date) -> date:
    return (month + timedelta(days=31)).replace(day=1)


def _months_between(first: date, last: date | None) -> int:
    return (last.year - first.year) * 12 + last.month - first.month if last else 0


def _month_named(partition: str | None) -> date | None:
    if partition is None:
        return None
    year, month = partition.rsplit("_", 2)[1:]
    return date(int(year), int(month), 1)
