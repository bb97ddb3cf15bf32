"""Statements of `.sql` files: their names and placeholders."""

import re

import pytest

from storage.statements import sql_files
from tests.packages import PACKAGES, ROOT

TEMPLATE = """
-- Adds numbers, each {times}.
SELECT {times} * number FROM asked WHERE name <> '{}'
"""


def test_file_is_read_without_its_comments() -> None:
    statement = sql_files.read("links/make/send.sql")

    assert statement.startswith("WITH requested AS")
    assert "--" not in statement


def test_placeholders_are_filled() -> None:
    filled = sql_files.fill(TEMPLATE, times="2")

    assert filled == "SELECT 2 * number FROM asked WHERE name <> '{}'"


def test_placeholder_without_a_text_is_an_error() -> None:
    with pytest.raises(KeyError):
        sql_files.fill(TEMPLATE)


def test_statements_of_a_file_have_names() -> None:
    statements = sql_files.read_several("api/idempotency.sql")

    assert statements["insert_with_effect"].endswith("FROM paid")
    assert "--" not in " ".join(statements.values())


def test_queries_follow_a_statements_ctes() -> None:
    assert sql_files.more_ctes({}) == ""
    assert (
        sql_files.more_ctes({"a": "SELECT 1", "b": "TABLE a"})
        == ", a AS (SELECT 1), b AS (TABLE a)"
    )


_STATEMENT = re.compile(r'"""\s*((?:SELECT|INSERT|UPDATE|DELETE|WITH)\b.*?)\s*"""', re.DOTALL)


def test_statements_of_four_lines_are_in_files() -> None:
    """Except ClickHouse's, which read `FINAL`: `tests/golden_sql` could not plan them."""
    statements = [
        (path, statement)
        for name in PACKAGES
        for path in (ROOT / name).rglob("*.py")
        for statement in _STATEMENT.findall(path.read_text(encoding="utf-8"))
    ]

    assert len(statements) > 20
    assert [
        f"{path.relative_to(ROOT)}: {statement}"
        for path, statement in statements
        if statement.count("\n") > 2 and " FINAL" not in statement
    ] == []
