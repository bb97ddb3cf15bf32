"""Short texts as people type and paste them: phones, codes, words like STOP.

Keyboards write digits in the script of their language, word processors turn hyphens into dashes,
and text copied from a messenger or a web page contains invisible marks.
"""

import re
from unicodedata import category, decimal

from parsing.characters import normal_form

MAX_LENGTH = 200  # characters: longer than any phone, code or word with the text pasted around it
_MARKS = {"Cf", "Mn", "Me"}  # invisible characters, and marks over or around a letter
# Invisible fillers, and the placeholder that a picture or file leaves in copied text.
_BLANKS = "\u115f\u1160\u2800\ufffc"
# Used as dashes and dots, but not in category Pd and not changed by NFKC. Without •, which masks
# the digits of a phone.
_DASHES = "\u2212\u30fc\u223c\u2053\u02d7\u2043\u2796"
_DOTS = "\u2219\u22c5\u2027\u30fb"
# Characters between a phone's digits after `plain`, for a character class of a pattern.
PHONE_PUNCTUATION = r" ()\[\].·/~\-"
_BETWEEN_GROUPS = re.compile(r"(?<=[0-9])[ \-]{1,3}(?=[0-9])")


def plain(text: str) -> str:
    """The text after NFKC, with ASCII digits, spaces and hyphens, and without marks.

    A text longer than MAX_LENGTH is only stripped: NFKC expands a character to as many as eighteen.
    """
    if len(text) > MAX_LENGTH:
        return text.strip()
    return plain_characters(text).strip().replace("\t", " ")


def plain_characters(text: str) -> str:
    """Like `plain`, for a text of any length, and without stripping spaces."""
    return text if text.isascii() else "".join(map(_plain_character, normal_form("NFKC", text)))


def code(text: str) -> str:
    """The characters of a code, which people write in groups: 123 456, 123-456."""
    return _BETWEEN_GROUPS.sub("", plain(text))


def words(text: str) -> str:
    """The text in lower case, without punctuation, with single spaces."""
    # The case is folded first, because folding İ leaves a mark.
    folded = plain(text).casefold()
    letters = [char if char.isalnum() or char.isspace() else "" for char in folded]
    return " ".join("".join(letters).split())


def _plain_character(char: str) -> str:
    if char.isascii():
        return char
    if char.isdecimal():
        return str(decimal(char))
    kind = category(char)
    if kind in _MARKS or char in _BLANKS:
        return ""
    if kind == "Zs":
        return " "
    if kind == "Pd" or char in _DASHES:
        return "-"
    return "." if char in _DOTS else char
