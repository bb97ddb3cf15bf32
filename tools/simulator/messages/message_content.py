"""What is in the text of a message: its links, its code, and how many SMS it takes."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

LINK = re.compile(r"https?://[^\s<>\"«»]+", re.IGNORECASE)
CLOSING = ".,;:!?)]}'"
# A code stands alone: dates, prices, phone numbers and words with digits are none.
CODE = re.compile(r"(?<![\w+])(?<![0-9][.,:/-])[0-9]{4,8}(?!\w|[.,:/-][0-9])")

# GSM 03.38; other text is sent as UCS-2.
BASIC = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
EXTENDED = frozenset("\f^{}\\[~]|€")


@dataclass(frozen=True, slots=True)
class Content:
    text: str
    code: str | None
    links: list[str]


def read(text: str, buttons: Iterable[str] = ()) -> Content:
    """Free text as the person finds it; `buttons` are the URLs behind its buttons."""
    links = links_in(text)
    return Content(text, code_in(text), list(dict.fromkeys([*links, *buttons])))


def links_in(text: str) -> list[str]:
    return list(dict.fromkeys(found.rstrip(CLOSING) for found in LINK.findall(text)))


def code_in(text: str) -> str | None:
    found = CODE.search(LINK.sub(" ", text))
    return found.group() if found else None


def digits(phone: str) -> str:
    return "".join(sign for sign in phone if sign in "0123456789")


def count_segments(text: str) -> int:
    """Septets or code units, packed as operators do."""
    if all(sign in BASIC or sign in EXTENDED for sign in text):
        return _pack([2 if sign in EXTENDED else 1 for sign in text], 160, 153)
    return _pack([2 if ord(sign) > 0xFFFF else 1 for sign in text], 70, 67)


def _pack(widths: list[int], alone: int, part: int) -> int:
    """A sign is never split, so an escape or a surrogate pair may leave a part one short."""
    if sum(widths) <= alone:
        return 1
    parts, room = 1, part
    for width in widths:
        if width > room:
            parts, room = parts + 1, part
        room -= width
    return parts
