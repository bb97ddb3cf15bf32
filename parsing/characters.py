"""The characters that a text from outside may contain.

The refused ones are listed by code point, not by category: Python's Unicode tables are years older
than people's phones and have new emoji as unassigned. Joiners belong to emoji and to Persian.
"""

import re
from typing import Literal
from unicodedata import category, normalize

# Controls, lone surrogates, line separators, bidirectional overrides, noncharacters.
_NONCHARACTERS = "\ufdd0-\ufdef" + "".join(
    f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0, 0x110000, 0x10000)
)
_NOWHERE = rf"\x7f-\x9f\u2028\u2029\u202a-\u202e\ud800-\udfff{_NONCHARACTERS}"
_NOT_IN_TEXT = re.compile(rf"[\x00-\x08\x0b\x0c\x0e-\x1f{_NOWHERE}]")
# In a single line also line ends, and invisible characters that change how others are shown.
_NOT_IN_LINE = re.compile(
    r"[\x00-\x1f\xad\u061c\u180e\u200b\u200e\u200f\u2060-\u206f\ufeff\ufff9-\ufffb"
    rf"{_NOWHERE}]"
)
_UNSEEN = {"Cf", "Mn", "Me"}
_PIECE = 200  # characters
_PIECES = re.compile(rf"[\x00-\x7f]*[^\x00-\x7f]{{0,{_PIECE}}}")
MAX_LENGTH = 5000  # characters: normalising takes quadratic time in the number of adjacent marks


def is_line(text: str) -> bool:
    """Whether it may be a name, a purpose, or another text of one line."""
    if text.isascii():
        return text.isprintable()
    return _NOT_IN_LINE.search(text) is None


def is_text(text: str) -> bool:
    """Whether it may be a text of several lines."""
    return _NOT_IN_TEXT.search(text) is None


def one_line(text: str) -> str:
    """The text with spaces for characters that a line may not have, and single spaces."""
    return " ".join(_NOT_IN_LINE.sub(" ", text).split())


def normalised(text: str) -> str:
    """A text of several lines with plain spaces, line ends of one character and composed letters.

    Other spellings look the same but take more parts of an SMS, or another alphabet. Texts longer
    than MAX_LENGTH stay unchanged.
    """
    if len(text) > MAX_LENGTH:
        return text
    text = normal_form("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))
    text = "".join(" " if category(char) == "Zs" else char for char in text)
    # Other separators stay, so that validation refuses them.
    return "\n".join(line.rstrip(" \t") for line in text.split("\n")).strip(" \t\n")


def as_seen(text: str) -> str:
    """The text after NFKC, without marks and invisible characters, as link detectors read it."""
    return "".join(char for char in normal_form("NFKC", text) if category(char) not in _UNSEEN)


def normal_form(form: Literal["NFC", "NFKC"], text: str) -> str:
    """The normal form of a text, in time that grows with its length.

    Python sorts adjacent marks in quadratic time: 16,000 take a quarter of a second. Composition
    joins a letter and its marks, so a piece may begin at any ASCII character; after 200 others in a
    row a letter may be separated from its marks.
    """
    if len(text) <= _PIECE:
        return normalize(form, text)
    return "".join(normalize(form, piece) for piece in _PIECES.findall(text))


def stored_text(text: str | None, max_length: int) -> str:
    """The text, truncated, without NUL and lone surrogates, which PostgreSQL and JSON refuse.

    Every text that is written in one statement with other callers' rows is cleaned here on receipt.
    """
    cut = (text or "")[:max_length]
    if cut.isascii() and "\0" not in cut:
        return cut
    return cut.replace("\0", "").encode(errors="replace").decode()
