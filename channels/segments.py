"""How many SMS a text costs: what we price is what the splitter sends."""

from dataclasses import dataclass
from typing import Literal

from channels.providers import gsm


@dataclass(frozen=True, slots=True)
class Segments:
    encoding: Literal["GSM-7", "UCS-2"]
    units: int  # septets or UTF-16 code units
    segments: int


def count(text: str) -> Segments:
    found = gsm.split(text)
    return Segments(found.alphabet.value, found.units, len(found.pieces))
