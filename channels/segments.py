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


@dataclass(frozen=True, slots=True)
class Segments:
    encoding: Literal["GSM-7", "UCS-2"]
    units: int  # septets or UTF-16 code units
    segments: int


def count(text: str) -> Segments:
    if _GSM.issuperset(text):
        return _measure("GSM-7", [2 if char in _EXTENDED else 1 for char in text], 160, 153)
    return _measure("UCS-2", [2 if char > "\uffff" else 1 for char in text], 70, 67)


def _measure(
    encoding: Literal["GSM-7", "UCS-2"], sizes: list[int], alone: int, joined: int
) -> Segments:
    units = sum(sizes)
    return Segments(encoding, units, 1 if units <= alone else _parts(sizes, joined))


def _parts(sizes: Iterable[int], room: int) -> int:
    """An escape pair or a surrogate pair that would straddle a border opens the next part whole."""
    parts, used = 1, 0
    for size in sizes:
        if used + size > room:
            parts, used = parts + 1, 0
        used += size
    return parts
