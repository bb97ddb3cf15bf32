"""The phones that got messages, and the bot contact of each."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tools.simulator.messages.message import iso


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
        return {
            "phone": self.digits,
            "messages": self.messages,
            "contact": self.contact,
            "last_at": iso(self.last_at) if self.last_at else None,
        }


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
