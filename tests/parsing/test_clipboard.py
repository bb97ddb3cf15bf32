"""Codes and phrases are read as people paste them."""

import sys
from collections import defaultdict
from itertools import chain
from unicodedata import category

import pytest

from parsing import clipboard


@pytest.fixture(scope="module")
def characters() -> dict[str, list[str]]:
    """All characters of Unicode, by their general category."""
    by_category = defaultdict[str, list[str]](list)
    for point in range(sys.maxunicode + 1):
        by_category[category(chr(point))].append(chr(point))
    return by_category


def test_separators_and_invisible_marks_in_code_are_ignored(
    characters: dict[str, list[str]],
) -> None:
    for kind in ("Zs", "Pd", "Cf", "Me"):
        for char in characters[kind]:
            around = "" if kind == "Pd" else char
            assert clipboard.code(f"{around}123{char}456{around}") == "123456", hex(ord(char))
    assert {
        clipboard.code(f"{char}123{char}456{char}") for char in "\u3164\uffa0\u2800\ufffc\t"
    } == {"123456"}
    assert clipboard.code("1 2 3 - 4 5 6") == "123456"
    assert clipboard.code("-123456") == "-123456"


def test_digits_of_every_script_are_read(characters: dict[str, list[str]]) -> None:
    for char in filter(str.isdecimal, chain.from_iterable(characters.values())):
        assert clipboard.code(char) in "0123456789"
    assert clipboard.code("٤٨٢٩١٥") == "482915"


@pytest.mark.parametrize(
    ("text", "expected_text"),
    [
        ("  STOP!!! ", "stop"),
        ("opt-out", "optout"),
        ("Opt\u00a0 Out.", "opt out"),
        ("ＳＴＯＰ", "stop"),
        ("s\u200btop \u2764\ufe0f", "stop"),
        ("СТОП\0", "стоп"),
        ("\u202eпотс", "потс"),
        ("!?", ""),
    ],
)
def test_words_are_without_case_marks_and_punctuation(text: str, expected_text: str) -> None:
    assert clipboard.words(text) == expected_text


def test_overlong_input_is_returned_unread() -> None:
    longest = "\ufdfa" * clipboard.MAX_LENGTH

    assert clipboard.plain(longest) != longest
    assert clipboard.plain(longest + "\ufdfa") == longest + "\ufdfa"
    assert clipboard.code(f"{longest}\ufdfa 12 34") == f"{longest}\ufdfa 1234"
