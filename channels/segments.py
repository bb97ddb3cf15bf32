"""How many SMS a text costs: 3GPP TS 23.038 alphabets, TS 23.040 concatenation."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

_BASIC = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
_EXTENDED = frozenset("\f^{}\\[~]|€")  # an escape and a septet each
_GSM = _BASIC | _EXTENDED
Encoding = Literal["GSM-7", "UCS-2"]
# Septets, or UTF-16 code units, in a text of one part and in each of several.
ROOM: dict[Encoding, tuple[int, int]] = {"GSM-7": (160, 153), "UCS-2": (70, 67)}


@dataclass(frozen=True, slots=True)
class Segments:
    encoding: Encoding
    units: int  # septets or UTF-16 code units
    segments: int


def count(text: str) -> Segments:
    if _GSM.issuperset(text):
        return _measure("GSM-7", [2 if char in _EXTENDED else 1 for char in text])
    return _measure("UCS-2", [2 if char > "\uffff" else 1 for char in text])


def outside_gsm(text: str) -> list[str]:
    """The characters, each once, because of which a text is not in the alphabet of GSM-7."""
    return [char for char in dict.fromkeys(text) if char not in _GSM]


def _measure(encoding: Encoding, sizes: list[int]) -> Segments:
    units, (alone, joined) = sum(sizes), ROOM[encoding]
    return Segments(encoding, units, 1 if units <= alone else _parts(sizes, joined))


def _parts(sizes: Iterable[int], room: int) -> int:
    """An escape pair or a surrogate pair that would straddle a border opens the next part whole."""
    parts, used = 1, 0
    for size in sizes:
        if used + size > room:
            parts, used = parts + 1, 0
        used += size
    return parts
