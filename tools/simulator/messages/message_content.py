"""Extracts links and codes from a message text."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

LINK = re.compile(r"https?://[^\s<>\"«»]+", re.IGNORECASE)
CLOSING = ".,;:!?)]}'"
# A code stands alone: dates, prices, phone numbers and words with digits are none.
CODE = re.compile(r"(?<![\w+])(?<![0-9][.,:/-])[0-9]{4,8}(?!\w|[.,:/-][0-9])")


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
