"""Which characters a text may have, and how texts are normalised."""

import time
from unicodedata import normalize

import pytest

from parsing.characters import (
    MAX_LENGTH,
    as_seen,
    is_line,
    is_text,
    normal_form,
    normalised,
    one_line,
)

# The first has letters and emoji of Unicode 17, which no Python that is used here knows.
GOOD = [
    "\U0001fac8\U0001faea\U0001f6d8",
    "نامه\u200cای",
    "👨\u200d👩\u200d👧",
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "❤\ufe0f",
    "5\u00a0минут",
    "12\u202f000",
    "ру\u0301с",
    "\ue000",
]
NOWHERE = ["\0", "\x1b", "\x7f", "\x85", "\u2028", "\u2029", "\u202a", "\u202e", "\ud800", "\ufffe"]
IN_TEXTS_ALONE = ["\n", "\r", "\t", "\u2066", "\u2069", "\u200b", "\u200e", "\u200f", "\ufeff"]


@pytest.mark.parametrize("text", GOOD)
def test_newer_characters_and_joiners_are_allowed(text: str) -> None:
    assert is_line(text)
    assert is_text(text)
    assert one_line(text) == " ".join(text.split())


@pytest.mark.parametrize("char", NOWHERE)
def test_controls_and_overrides_are_not(char: str) -> None:
    assert not is_line(f"a{char}b")
    assert not is_text(f"a{char}я")
    assert one_line(f"a{char}b") == "a b"


@pytest.mark.parametrize("char", IN_TEXTS_ALONE)
def test_texts_may_have_more_than_lines(char: str) -> None:
    assert not is_line(f"a{char}b")
    assert is_text(f"a{char}b")


def test_invisible_characters_are_dropped() -> None:
    assert as_seen("ｅv\u200bi\u200dl\ufe0f.com") == "evil.com"


def test_texts_that_look_the_same_are_normalised() -> None:
    assert normalised(" a\u00a0b \r\nи\u0306\u2003\n\n") == "a b\nй"
    assert normalised("a\rb\tc 👨\u200d👩 می\u200cخواهم") == "a\nb\tc 👨\u200d👩 می\u200cخواهم"


def test_text_too_long_is_not_composed() -> None:
    marks = "a" + "\u0315\u0300" * (MAX_LENGTH // 2)

    assert normalised(marks) == marks


@pytest.mark.parametrize("count", [16_000, 64_000])
def test_many_marks_cost_little(count: int) -> None:
    text = "a" + "\u0345" * count + "\u0334" * count

    began = time.process_time()
    as_seen(text)

    assert time.process_time() - began < count * 5e-6


def test_long_text_is_normalised_as_a_short_one() -> None:
    words = "Код для входа: й, ё, Å, ﬁ, 각 и 각 на www.ﬂowers.рф. "
    text = normalize("NFD", words) * 100

    assert normal_form("NFC", text) == normalize("NFC", text)
    assert normal_form("NFKC", text) == normalize("NFKC", text)
