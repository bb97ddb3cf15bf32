"""Statements of `.sql` files: their names and placeholders."""

import pytest

from storage.statements import sql_files

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
