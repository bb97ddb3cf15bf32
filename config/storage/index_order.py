"""Statements that read a part of what one company has, in the order of an index.

Plans are made for any company. One with many times what the average has would be read whole and
sorted, for each part again, where the average one has little more than a part.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

_NAMES = ("enable_sort", "enable_bitmapscan")


@contextmanager
def in_index_order() -> Iterator[CursorWrapper]:
    """In a transaction, or a savepoint of the caller's."""
    with transaction.atomic(), connection.cursor() as cursor:
        for name in _NAMES:
            cursor.execute(f"SET LOCAL {name} = off")
        yield cursor
        for name in _NAMES:
            cursor.execute(f"SET LOCAL {name} = DEFAULT")
