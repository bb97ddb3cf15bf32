"""Encodes short messages: alphabets, parts, the user data header that joins them.

3GPP TS 23.038 (alphabets) and TS 23.040 §9.2.3.24.1 (concatenation).
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

_ESCAPE = 0x1B
_BASIC = (
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞ\x1bÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
_EXTENDED = {
    "\f": 0x0A,
    "^": 0x14,
    "{": 0x28,
    "}": 0x29,
    "\\": 0x2F,
    "[": 0x3C,
    "~": 0x3D,
    "]": 0x3E,
    "|": 0x40,
    "€": 0x65,
}
_SEPTETS = {char: bytes([index]) for index, char in enumerate(_BASIC) if index != _ESCAPE} | {
    char: bytes([_ESCAPE, index]) for char, index in _EXTENDED.items()
}
_GSM = frozenset(_SEPTETS)


class Alphabet(StrEnum):
    GSM = "GSM-7"
    UCS2 = "UCS-2"


# Septets or UTF-16 units: in a single message, and in each part of a concatenated one.
SEGMENT_SIZES = {Alphabet.GSM: (160, 153), Alphabet.UCS2: (70, 67)}


@dataclass(frozen=True, slots=True)
class Split:
    """A text cut into parts; `pieces` joined are the text."""

    alphabet: Alphabet
    units: int  # septets or UTF-16 units of the whole text
    pieces: list[str]


def alphabet_of(text: str) -> Alphabet:
    """The cheapest alphabet that has every character of the text."""
    return Alphabet.GSM if _GSM.issuperset(text) else Alphabet.UCS2


def split(text: str, alphabet: Alphabet | None = None) -> Split:
    """Cuts a text into the fewest parts; `alphabet` can force UCS-2."""
    alphabet = alphabet or alphabet_of(text)
    if alphabet is Alphabet.GSM:
        sizes = [2 if char in _EXTENDED else 1 for char in text]
    else:
        sizes = [2 if char > "\uffff" else 1 for char in text]
    units = sum(sizes)
    single, part = SEGMENT_SIZES[alphabet]
    pieces = [text] if units <= single else _cut(text, sizes, part)
    return Split(alphabet, units, pieces)


def _cut(text: str, sizes: list[int], capacity: int) -> list[str]:
    """Cuts a text into parts; an escape or surrogate pair at a border moves into the next part."""
    pieces = []
    start = 0
    used = 0
    for index, size in enumerate(sizes):
        if used + size > capacity:
            pieces.append(text[start:index])
            start = index
            used = 0
        used += size
    return [*pieces, text[start:]]


def encode(piece: str, alphabet: Alphabet) -> bytes:
    """Encodes a part: one octet per septet, which the centre packs, or UTF-16, big-endian."""
    if alphabet is Alphabet.GSM:
        return b"".join(map(_SEPTETS.__getitem__, piece))
    return piece.encode("utf-16-be", "surrogatepass")


def header(reference: int, total: int, number: int) -> bytes:
    """The user data header of part `number` of `total`, with an 8-bit reference."""
    return bytes([5, 0, 3, reference & 0xFF, total, number])


Encoding = Literal["GSM-7", "UCS-2"]
# Septets or UTF-16 code units: in a single message, and in each part of a concatenated one.
SIZES_BY_ENCODING: dict[Encoding, tuple[int, int]] = {
    alphabet.value: sizes for alphabet, sizes in SEGMENT_SIZES.items()
}


@dataclass(frozen=True, slots=True)
class Segments:
    encoding: Encoding
    units: int  # septets or UTF-16 code units
    segments: int


def count_segments(text: str) -> Segments:
    """Counts with the splitter that sends the text, so price and send agree."""
    parts = split(text)
    return Segments(parts.alphabet.value, parts.units, len(parts.pieces))


def non_gsm_characters(text: str) -> list[str]:
    """The distinct characters of a text that GSM-7 lacks."""
    return [char for char in dict.fromkeys(text) if alphabet_of(char) is Alphabet.UCS2]
