"""The hashes of seals. Whoever has the statement and the heads can compute them again."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from hashlib import sha256
from typing import Any

NOTHING = "0" * 64  # the head before the first day


@dataclass(frozen=True, slots=True)
class Part:
    """A day's transfers of the messages of one month; `available` and `held` are what they changed.

    `digest` is the SHA-256 of their lines, each ended by a newline, by time and id.
    """

    month: str  # "2026-10"; "" for transfers without a message
    transfers: int
    available: int
    held: int
    digest: str

    @classmethod
    def stored(cls, parts: Sequence[Mapping[str, Any]]) -> list["Part"]:
        return [cls(**part) for part in parts]

    def to_store(self) -> dict[str, Any]:
        return asdict(self)


def head_of(previous: str, day: date, parts: Sequence[Part]) -> str:
    """A company's head after the day; its parts ascend by month."""
    rows = [[one.month, one.transfers, one.available, one.held, one.digest] for one in parts]
    return _head_of(previous, day, rows)


def head_of_day(previous: str, day: date, heads: Iterable[tuple[int, str]]) -> str:
    """The head of all companies after the day: (company, its head), ascending by company."""
    return _head_of(previous, day, heads)


def _head_of(previous: str, day: date, rows: Iterable[Sequence[object]]) -> str:
    lines = [previous, day.isoformat(), *(json.dumps(list(row)) for row in rows)]
    return sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()
