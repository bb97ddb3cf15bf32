"""What of a month goes into its archive, and in which form.

Nothing that could be about a person does: every column that an erasure empties is left out, but
the phones of messages and codes, which the purge has cut to their prefix. So archives need no
erasures. Vendors' ids and the MACs of codes are such columns, too.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from django.db import connection

from config.storage.months.calendar import next_month
from config.storage.months.closed_months import partition
from persons.columns import ERASED

PAGES, ROWS = 2000, 50_000  # read at once
Rows = list[tuple[Any, ...]]

_COLUMNS = """
SELECT attname, format_type(atttypid, NULL) FROM pg_attribute
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
_PAGES = "SELECT pg_relation_size(%s::regclass) / current_setting('block_size')::int"
# Types that a Parquet file has as they are; others become their text.
NATIVE = {
    "smallint",
    "integer",
    "bigint",
    "boolean",
    "text",
    "character varying",
    "timestamp with time zone",
}


@dataclass(frozen=True, slots=True)
class ArchivedTable:
    """`masked` is the column with a phone's prefix. Of a table that is not partitioned, the rows of
    a month are found by their message.
    """

    name: str
    masked: str = ""
    order: str = ""  # columns of an index; else as the rows lie
    is_monthly: bool = True

    def relation(self, month: date) -> str:
        return partition(self.name, month) if self.is_monthly else self.name

    def condition(self, month: date) -> str:
        """Rows of earlier months are gone already."""
        if self.is_monthly:
            return "TRUE"
        return f"message_id < uuid7_at('{next_month(month):%Y-%m-%d} 00:00+00')"


# Of receipts and events the purge leaves nothing for so long: they are dropped, and have no file.
TABLES = (
    ArchivedTable("channels_message", masked="phone"),
    ArchivedTable("channels_attempt"),
    ArchivedTable("otp_verification", masked="phone"),
    ArchivedTable("billing_transfer", order="company_id, created_at, id"),  # as they are sealed
    ArchivedTable("channels_fallbackevent", is_monthly=False),
)


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: str

    @property
    def expression(self) -> str:
        return f'"{self.name}"' if self.type in NATIVE else f'"{self.name}"::text'


@dataclass(frozen=True, slots=True)
class Source:
    """The rows of one table that belong to one month, and the columns that are archived."""

    table: ArchivedTable
    month: date
    columns: list[Column]

    @classmethod
    def of(cls, table: ArchivedTable, month: date) -> "Source":
        with connection.cursor() as cursor:
            cursor.execute(_COLUMNS, [table.relation(month)])
            columns = [Column(*row) for row in cursor.fetchall()]
        left_out = _left_out(table)
        return cls(table, month, [one for one in columns if one.name not in left_out])

    @property
    def relation(self) -> str:
        return self.table.relation(self.month)

    @property
    def left_out(self) -> list[str]:
        return _left_out(self.table)

    def chunks(self) -> Iterator[Rows]:
        """By short statements, in the same order each time: nobody writes these rows any longer."""
        return self._by_index() if self.table.order else self._by_pages()

    def _by_index(self) -> Iterator[Rows]:
        order = self.table.order
        names = [column.name for column in self.columns]
        places = [names.index(name) for name in order.split(", ")]
        statement = f"{self._select} WHERE ({order}) > (%s, %s, %s) ORDER BY {order} LIMIT {ROWS}"
        last: list[Any] = [0, datetime(1, 1, 1, tzinfo=UTC), 0]
        with connection.cursor() as cursor:
            while True:
                cursor.execute(statement, last)
                if not (rows := cursor.fetchall()):
                    return
                yield rows
                last = [rows[-1][place] for place in places]

    def _by_pages(self) -> Iterator[Rows]:
        condition = self.table.condition(self.month)
        statement = f"{self._select} WHERE ctid >= %s::tid AND ctid < %s::tid AND {condition}"
        with connection.cursor() as cursor:
            cursor.execute(_PAGES, [self.relation])
            (pages,) = cursor.fetchone()
            for first in range(0, pages, PAGES):
                cursor.execute(statement, [f"({first},0)", f"({first + PAGES},0)"])
                if rows := cursor.fetchall():
                    yield rows

    @property
    def _select(self) -> str:
        columns = ", ".join(column.expression for column in self.columns)
        return f"SELECT {columns} FROM {self.relation}"  # noqa: S608 - names of ours


def sources(month: date) -> list[Source]:
    return [Source.of(table, month) for table in TABLES]


def _left_out(table: ArchivedTable) -> list[str]:
    personal = ERASED.get(table.name, "").split()
    return [name for name in personal if name != table.masked]
