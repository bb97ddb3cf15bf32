"""Messages that vendors accepted, what is in their text, and the phones that got them."""

import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tools.simulator.smpp.pdu import COLUMNS, SECOND

LINK = re.compile(r"https?://[^\s<>\"«»]+", re.IGNORECASE)
CLOSING = ".,;:!?)]}'"
# A code stands alone: dates, prices, phone numbers and words with digits are none.
CODE = re.compile(r"(?<![\w+])(?<![0-9][.,:/-])[0-9]{4,8}(?!\w|[.,:/-][0-9])")
# GSM 03.38; other text is sent as UCS-2.
BASIC = frozenset("".join(COLUMNS)) - {"\x1b"}
EXTENDED = frozenset(SECOND.values())
RANK = {"sent": 0, "failed": 1, "delivered": 2, "read": 3}
# Marks before an event in `pending`.
DUPLICATE = "+"
SILENT = "-"


def links_in(text: str) -> list[str]:
    return list(dict.fromkeys(link.rstrip(CLOSING) for link in LINK.findall(text)))


def code_in(text: str) -> str | None:
    match = CODE.search(LINK.sub(" ", text))
    return match.group() if match else None


def digits(phone: str) -> str:
    return "".join(sign for sign in phone if sign in "0123456789")


def is_phone(text: object) -> bool:
    return isinstance(text, str) and 7 <= len(digits(text)) <= 15


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


@dataclass(slots=True, weakref_slot=True, eq=False)
class Message:
    channel: str
    provider: str
    provider_id: str
    phone: str
    text: str
    code: str | None
    links: list[str]
    ref: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)  # what the vendor needs for its receipts
    state: str = "sent"
    pending: list[str] = field(default_factory=list)
    at: float = field(default_factory=time.time)
    id: int = 0

    def suffers(self, fault: str) -> bool:
        return fault in self.extra.get("faults", ())

    def reach(self, state: str) -> bool:
        """States only rise; says whether this one did."""
        risen = RANK[state] > RANK[self.state]
        if risen:
            self.state = state
        return risen

    def shown(self) -> dict[str, Any]:
        names = ("channel", "provider", "text", "code", "links", "state")
        fields = {name: getattr(self, name) for name in names}
        reported = self.extra.get("reported")  # the vendor's word on a code it was told of
        return {"id": str(self.id), **fields, "reported": reported, "at": iso(self.at)}


def iso(moment: float) -> str:
    at = datetime.fromtimestamp(moment, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(slots=True)
class Phone:
    digits: str
    messages: int = 0
    last_at: float | None = None
    shared: str = "default"  # default | shared | unshared; by default a phone counts as shared
    blocked: bool = False

    @property
    def contact(self) -> str:
        return "blocked" if self.blocked else self.shared

    def shown(self) -> dict[str, Any]:
        fields = {"phone": self.digits, "messages": self.messages, "contact": self.contact}
        return fields | {"last_at": iso(self.last_at) if self.last_at else None}


class Phones:
    """Kept in memory in order of activity, so that listing them never scans the log."""

    def __init__(self, phones: Iterable[Phone]) -> None:
        self._by_digits = {phone.digits: phone for phone in phones}

    def __iter__(self) -> Iterator[Phone]:
        """The most recently active first."""
        return reversed(self._by_digits.values())

    def get(self, digits: str) -> Phone:
        """A phone nobody wrote to yet is a phone all the same."""
        return self._by_digits.get(digits) or Phone(digits)

    def touch(self, digits: str) -> Phone:
        phone = self._by_digits.pop(digits, None) or Phone(digits)
        self._by_digits[digits] = phone
        return phone

    def count(self, digits: str, at: float) -> None:
        phone = self.touch(digits)
        phone.messages += 1
        phone.last_at = at
