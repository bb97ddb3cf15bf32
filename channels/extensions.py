"""Hooks that higher apps register at start, so that channels can call them without an import.

otp and links say how their messages are rendered, shown on a timeline, settled and purged.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

if TYPE_CHECKING:
    from django.db.models import Q

    from channels.models import Message


@dataclass(frozen=True, slots=True)
class Rendered:
    """What the person will read, made just before the send: a code is derived, never stored."""

    text: str
    code: str | None = None
    short_url: str | None = None


class NotRenderableError(Exception):
    """What the message was made from no longer exists."""


class Renderer(Protocol):
    """Raises NotRenderableError."""

    def __call__(
        self, *, subject_id: UUID, params: Mapping[str, Any], locale: str, channel: str
    ) -> Rendered: ...


@dataclass(frozen=True, slots=True)
class CodeCount:
    """Codes that one company requested in one mode, and how many of them were verified."""

    company_id: int
    mode: str
    codes: int
    verified: int


@dataclass(frozen=True, slots=True)
class BreakdownCount:
    """How far messages with one value of a dimension came, as in `channels.models.DayBreakdown`."""

    company_id: int
    mode: str
    dimension: str
    value: str  # of a country: the phone of one of the messages
    asked: int = 0
    handed_over: int = 0
    delivered: int = 0
    linked: int = 0
    opened: int = 0
    codes: int = 0
    entered: int = 0
    charged: int = 0
    spent: int = 0


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """An event of a code or a link, worded for the page of its message."""

    at: datetime
    title: str
    tone: str = ""
    detail: str = ""


TimelineSource = Callable[["Message"], Iterable[TimelineEntry]]
OpenedAtLookup = Callable[["Message"], datetime | None]
Purger = Callable[[int], int]  # deletes at most this many rows; returning fewer means none are left
CodeCounter = Callable[..., list[CodeCount]]
BreakdownCounter = Callable[..., Iterable[BreakdownCount]]
PurposeFilter = Callable[[str], "Q"]

_renderers: dict[str, Renderer] = {}
_settlers: list[Callable[[], int]] = []
_purgers: list[Purger] = []
_code_counters: list[CodeCounter] = []
_breakdown_counters: list[BreakdownCounter] = []
_purpose_filters: list[PurposeFilter] = []
_timelines: dict[str, TimelineSource] = {}
_opened_at_lookups: list[OpenedAtLookup] = []


def register_renderer(kind: str, renderer: Renderer) -> None:
    _renderers[kind] = renderer


def renderer(kind: str) -> Renderer:
    return _renderers[kind]


def register_settler(settler: Callable[[], int]) -> None:
    """Registers a function that settles messages by a higher app's proof (a correct code)."""
    _settlers.append(settler)


def settlers() -> list[Callable[[], int]]:
    return _settlers


def register_purger(purger: Purger) -> None:
    """Registers a function that deletes expired rows."""
    _purgers.append(purger)


def purgers() -> list[Purger]:
    return _purgers


def register_code_counter(counter: CodeCounter) -> None:
    """Registers a function that counts the codes of messages created from `start` to `end`."""
    _code_counters.append(counter)


def count_codes(
    *, start: datetime, end: datetime, company_id: int | None = None, mode: str | None = None
) -> list[CodeCount]:
    """One row per company and mode with codes in the period, or only those asked for."""
    return [
        row
        for counter in _code_counters
        for row in counter(start=start, end=end, company_id=company_id, mode=mode)
    ]


def register_breakdown_counter(counter: BreakdownCounter) -> None:
    """Registers a function that counts by every dimension the messages created from `start` to
    `end`, and the tokens captured then.
    """
    _breakdown_counters.append(counter)


def count_breakdowns(
    *, start: datetime, end: datetime, company_id: int | None = None, mode: str | None = None
) -> list[BreakdownCount]:
    """One value may have several rows."""
    return [
        row
        for counter in _breakdown_counters
        for row in counter(start=start, end=end, company_id=company_id, mode=mode)
    ]


def register_purpose_filter(condition: PurposeFilter) -> None:
    """Registers the condition on messages whose code is for a purpose."""
    _purpose_filters.append(condition)


def with_purpose(purpose: str) -> "Q":
    return reduce(or_, (condition(purpose) for condition in _purpose_filters))


def register_timeline(kind: str, source: TimelineSource) -> None:
    """Registers the timeline entries of what messages of this kind carry."""
    _timelines[kind] = source


def timeline_entries(message: "Message") -> Iterable[TimelineEntry]:
    return _timelines[message.kind](message) if message.kind in _timelines else ()


def register_opened_at(lookup: OpenedAtLookup) -> None:
    """Registers a function that says when the recipient opened what a message carried."""
    _opened_at_lookups.append(lookup)


def opened_at(message: "Message") -> datetime | None:
    return next(filter(None, (lookup(message) for lookup in _opened_at_lookups)), None)
