"""Counts the SMS segments of a text with the splitter that sends it, so price and send agree."""

from dataclasses import dataclass
from typing import Literal

from channels.providers import gsm

Encoding = Literal["GSM-7", "UCS-2"]
# Septets or UTF-16 code units: in a single message, and in each part of a concatenated one.
SEGMENT_SIZES: dict[Encoding, tuple[int, int]] = {
    alphabet.value: sizes for alphabet, sizes in gsm.SEGMENT_SIZES.items()
}


@dataclass(frozen=True, slots=True)
class Segments:
    encoding: Encoding
    units: int  # septets or UTF-16 code units
    segments: int


def count(text: str) -> Segments:
    split = gsm.split(text)
    return Segments(split.alphabet.value, split.units, len(split.pieces))


def non_gsm_characters(text: str) -> list[str]:
    """The distinct characters of a text that GSM-7 lacks."""
    return [char for char in dict.fromkeys(text) if gsm.alphabet_of(char) is gsm.Alphabet.UCS2]
