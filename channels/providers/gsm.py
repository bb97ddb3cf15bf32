"""Short messages as handsets read them: alphabets, parts, the header that joins them again.

3GPP TS 23.038 (alphabets) and TS 23.040 §9.2.3.24.1 (concatenation).
"""

from dataclasses import dataclass
from enum import StrEnum

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
_SEPTETS = {char: bytes([place]) for place, char in enumerate(_BASIC) if place != _ESCAPE} | {
    char: bytes([_ESCAPE, place]) for char, place in _EXTENDED.items()
}
_GSM = frozenset(_SEPTETS)


class Alphabet(StrEnum):
    GSM = "GSM-7"
    UCS2 = "UCS-2"


# Septets or UTF-16 units: in a message that stands alone, and in one part of several.
SEGMENT_SIZES = {Alphabet.GSM: (160, 153), Alphabet.UCS2: (70, 67)}


@dataclass(frozen=True, slots=True)
class Split:
    """A text as it will be sent; `pieces` joined are the text again."""

    alphabet: Alphabet
    units: int  # septets or UTF-16 units of the whole text
    pieces: list[str]


def alphabet_of(text: str) -> Alphabet:
    """The cheapest that has every character: there is no near enough on a phone."""
    return Alphabet.GSM if _GSM.issuperset(text) else Alphabet.UCS2


def split(text: str, alphabet: Alphabet | None = None) -> Split:
    """Cut a text into as few parts as there can be; in UCS-2 on demand, though GSM-7 would do."""
    alphabet = alphabet or alphabet_of(text)
    if alphabet is Alphabet.GSM:
        sizes = [2 if char in _EXTENDED else 1 for char in text]
    else:
        sizes = [2 if char > "\uffff" else 1 for char in text]
    units = sum(sizes)
    alone, joined = SEGMENT_SIZES[alphabet]
    pieces = [text] if units <= alone else _cut(text, sizes, joined)
    return Split(alphabet, units, pieces)


def _cut(text: str, sizes: list[int], room: int) -> list[str]:
    """An escape pair or a surrogate pair that would straddle a border opens the next part whole."""
    pieces, start, used = [], 0, 0
    for place, size in enumerate(sizes):
        if used + size > room:
            pieces.append(text[start:place])
            start, used = place, 0
        used += size
    return [*pieces, text[start:]]


def encode(piece: str, alphabet: Alphabet) -> bytes:
    """One octet to a septet, which the message centre packs; or UTF-16, high octet first."""
    if alphabet is Alphabet.GSM:
        return b"".join(map(_SEPTETS.__getitem__, piece))
    return piece.encode("utf-16-be", "surrogatepass")


def header(reference: int, total: int, number: int) -> bytes:
    """The user data header of part `number` of `total`, with an 8-bit reference."""
    return bytes([5, 0, 3, reference & 0xFF, total, number])
