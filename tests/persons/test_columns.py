"""Every column that can hold a phone is listed for the eraser."""

from collections import Counter

import pytest
from django.db import connection

from persons import columns

# Text, JSON, bytes and arrays of at least eight characters, and numbers that are no ids.
_COLUMNS = """
SELECT c.relname || '.' || a.attname FROM pg_attribute a
JOIN pg_class c ON c.oid = a.attrelid JOIN pg_type t ON t.oid = a.atttypid
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'm')
  AND NOT c.relispartition AND a.attnum > 0 AND NOT a.attisdropped
  AND (t.typcategory IN ('A', 'S', 'U') AND t.typname NOT IN ('uuid', 'char')
       OR t.typname IN ('int8', 'numeric', 'float8'))
  AND NOT (t.typname = 'varchar' AND a.atttypmod BETWEEN 4 AND 11)
  AND NOT (t.typname = 'int8' AND (a.attname = 'id' OR a.attname LIKE '%\\_id'))
"""


@pytest.mark.django_db
def test_every_column_that_can_hold_a_phone_is_known_to_the_eraser() -> None:
    with connection.cursor() as cursor:
        cursor.execute(_COLUMNS)
        existing = {name for (name,) in cursor.fetchall()}

    tables = [columns.ERASED, *columns.KEPT.values(), columns.NOT_OF_RECIPIENTS]
    known = Counter(
        f"{table}.{name}"
        for group in tables
        for table, names in group.items()
        for name in names.split()
    )

    assert existing - known.keys() == set(), "say in persons/columns.py what happens"
    assert known.keys() - existing == set()
    assert set(known.values()) == {1}
