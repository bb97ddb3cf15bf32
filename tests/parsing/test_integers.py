"""Integers are read from text and JSON within bounds."""

import pytest

from parsing.integers import MAX, MAX_PAGE_NUMBER, json_integer, parse_integer, parse_page


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), (" 42 ", 42), ("٤٢", 42), ("007", 7), (str(MAX), MAX), (None, None), ("", None)],
)
def test_digits_are_parsed_as_an_integer(text: object, number: int | None) -> None:
    assert parse_integer(text) == number


@pytest.mark.parametrize(
    "text",
    ["9" * 4301, str(MAX + 1), "-1", "+1", "1_000", "1e3", "0x10", "1.0", "²", "NaN", "\0", "1 2"],
)
def test_anything_else_is_not_an_integer(text: str) -> None:
    assert parse_integer(text) is None
    assert parse_page(text) == 0


def test_integer_outside_of_bounds_is_none() -> None:
    assert [parse_integer(text, minimum=1, maximum=3) for text in "0134"] == [None, 1, 3, None]


def test_page_has_an_end() -> None:
    assert parse_page("123456789") == MAX_PAGE_NUMBER


@pytest.mark.parametrize("value", [300, 3e2, 1e300])
def test_json_integer_may_have_a_zero_fraction(value: float) -> None:
    assert json_integer(value) == int(value)
    assert isinstance(json_integer(value), int)


@pytest.mark.parametrize("value", [300.5, True, float("nan"), float("inf"), "300", None, [1]])
def test_anything_else_is_not_a_json_integer(value: object) -> None:
    assert json_integer(value) is None
