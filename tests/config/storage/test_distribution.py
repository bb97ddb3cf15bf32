"""`docs/distribution.md` has every table, and every key that keeps it from being distributed."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

pytestmark = pytest.mark.django_db

PAGE = Path(__file__).resolve().parents[3] / "docs" / "distribution.md"
_NAME = re.compile(r"`(.+?)`")
_TABLES = """
SELECT c.relname, EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid
                          AND a.attname = 'company_id' AND NOT a.attisdropped)
FROM pg_class c
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
"""
# Of a partitioned table, its own and those of one month, which are unique in the month alone.
_UNIQUE_KEYS = """
SELECT t.name, (SELECT string_agg(pg_get_indexdef(i.indexrelid, k, true), ', ' ORDER BY k)
                FROM generate_series(1, i.indnatts) AS k)
FROM unnest(%s::text[]) AS t(name)
CROSS JOIN LATERAL (SELECT t.name::regclass::oid AS oid UNION ALL (
  SELECT inhrelid FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid
  WHERE inhparent = t.name::regclass ORDER BY c.relname LIMIT 1)) AS part
JOIN pg_index i ON i.indrelid = part.oid AND i.indisunique
WHERE NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = i.indrelid
                  AND a.attname = 'company_id' AND a.attnum = ANY(i.indkey))
"""
_FOREIGN_KEYS = """
SELECT conrelid::regclass::text, confrelid::regclass::text FROM pg_constraint
WHERE contype = 'f' AND conrelid::regclass::text = ANY(%s)
  AND NOT confrelid::regclass::text = ANY(%s)
"""


def rows(statement: str, *params: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return list(cursor.fetchall())


def cells(heading: str) -> list[list[list[str]]]:
    """The names in each cell of the table under a heading."""
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[_NAME.findall(cell) for cell in line.strip("|").split("|")] for line in lines]


def groups() -> dict[str, set[str]]:
    names = ("company", "parent", "later", "copied", "single")
    listed = [row[1] for row in cells("Tables")]
    return dict(zip(names, map(set, listed), strict=True))


def of_companies() -> list[str]:
    return sorted(groups()["company"] | groups()["parent"] | groups()["later"])


def test_every_table_is_in_one_group() -> None:
    listed = [name for row in cells("Tables") for name in row[1]]

    assert sorted(listed) == sorted(name for name, _ in rows(_TABLES))


def test_groups_are_by_the_company_column() -> None:
    carrying = {name for name, has_company in rows(_TABLES) if has_company}

    assert carrying - groups()["copied"] == groups()["company"]


def test_keys_without_the_company() -> None:
    listed = {
        (table, key)
        for tables, keys, _ in cells("Keys without the company")
        for table in tables
        for key in keys
    }

    assert listed == set(rows(_UNIQUE_KEYS, of_companies()))


def test_references_between_companies_tables() -> None:
    listed = {
        (table, name)
        for tables, _, names in cells("Keys without the company")
        for table in tables
        for name in names
    }

    assert listed == set(rows(_FOREIGN_KEYS, of_companies(), sorted(groups()["copied"])))
