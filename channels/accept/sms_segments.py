"""How many SMS a text costs: what we price is what the splitter sends."""

from dataclasses import dataclass
from typing import Literal

from channels.providers import gsm

Encoding = Literal["GSM-7", "UCS-2"]
# Septets, or UTF-16 code units, in a text of one part and in each of several.
SEGMENT_SIZES: dict[Encoding, tuple[int, int]] = {
    one.value: room for one, room in gsm.SEGMENT_SIZES.items()
}


@dataclass(frozen=True, slots=True)
class Segments:
    encoding: Encoding
    units: int  # septets or UTF-16 code units
    segments: int


def count(text: str) -> Segments:
    found = gsm.split(text)
    return Segments(found.alphabet.value, found.units, len(found.pieces))


def non_gsm_characters(text: str) -> list[str]:
    """The characters, each once, because of which a text is not in the alphabet of GSM-7."""
    return [char for char in dict.fromkeys(text) if gsm.alphabet_of(char) is gsm.Alphabet.UCS2]
