"""Short texts as people type and paste them: phones, codes, words like STOP.

Keyboards write digits in the script of their language, word processors turn hyphens into dashes,
and what is copied from a messenger or a web page brings invisible marks along.
"""

import re
from unicodedata import category, decimal

from parsing.characters import normal_form

MAX_LENGTH = 200  # characters: no phone, code or word is as long, with all that is pasted around it
_MARKS = {"Cf", "Mn", "Me"}  # invisible characters, and marks over or around a letter
# Fillers that show nothing, and what a picture or a file leaves behind in a copied text.
_BLANKS = "\u115f\u1160\u2800\ufffc"
# Used as dashes and dots; Unicode has them elsewhere than in Pd, and NFKC leaves them. Not •, which
# stands for the digits of a masked phone.
_DASHES = "\u2212\u30fc\u223c\u2053\u02d7\u2043\u2796"
_DOTS = "\u2219\u22c5\u2027\u30fb"
# What people write between the digits of a phone, in `plain`; for the class of a pattern.
PHONE_PUNCTUATION = r" ()\[\].·/~\-"
_BETWEEN_GROUPS = re.compile(r"(?<=[0-9])[ \-]{1,3}(?=[0-9])")


def plain(text: str) -> str:
    """The text in compatible characters, with ASCII digits, spaces and hyphens, and without marks.
    A text too long for that stays unchanged: NFKC makes up to eighteen characters of one.
    """
    if len(text) > MAX_LENGTH:
        return text.strip()
    return plain_characters(text).strip().replace("\t", " ")


def plain_characters(text: str) -> str:
    """`plain` of a text of any length."""
    return text if text.isascii() else "".join(map(_plain_character, normal_form("NFKC", text)))


def code(text: str) -> str:
    """The characters of a code, which people write in groups: 123 456, 123-456."""
    return _BETWEEN_GROUPS.sub("", plain(text))


def words(text: str) -> str:
    """The text in lower case, without punctuation, with single spaces."""
    # First the case: that of İ leaves a mark.
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
