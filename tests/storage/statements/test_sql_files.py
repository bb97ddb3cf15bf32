"""Statements of `.sql` files: how placeholders and rows are filled in."""

import pytest

from storage.statements import sql_files

ROWS = """
-- Adds numbers, each {times}.
WITH asked AS MATERIALIZED (
  SELECT * FROM json_to_recordset(%(asked)s::json) AS n(number int, name text,
    hash bytea)
  LIMIT json_array_length(%(asked)s::json))
SELECT {times} * number FROM asked WHERE name <> '{}'
"""


def test_file_is_read_without_its_comments() -> None:
    statement = sql_files.read("otp/check/check.sql")

    assert statement.startswith("WITH guesses AS")
    assert "--" not in statement


def test_blanks_are_filled() -> None:
    filled = sql_files.fill(ROWS, times="2")

    assert filled.endswith("SELECT 2 * number FROM asked WHERE name <> '{}'")
    assert "{times}" not in filled


def test_blank_without_a_text_is_an_error() -> None:
    with pytest.raises(KeyError):
        sql_files.fill(ROWS)


def test_one_row_is_given_as_parameters() -> None:
    statement = sql_files.with_scalar_params(sql_files.compact(ROWS))

    assert statement.startswith(
        "WITH asked AS NOT MATERIALIZED (SELECT %(number)s::int AS number,"
        " %(name)s::text AS name, %(hash)s::bytea AS hash) SELECT"
    )


def test_rows_in_another_spelling_are_an_error() -> None:
    respelt = ROWS.replace("LIMIT json_array_length(%(asked)s::json)", "LIMIT 100")

    with pytest.raises(ValueError, match="0 times"):
        sql_files.with_scalar_params(sql_files.compact(respelt))
