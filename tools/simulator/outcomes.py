"""Outcomes by script: what becomes of every message to a number by a channel, set beforehand.

A fault changes what vendors do to sends in general; an outcome says all of one number, so that
whoever drew the fate of many people can play it. Where there is one, no fault is asked.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tools.simulator.channels import CHANNELS
from tools.simulator.faults import BARRED, RECEIPTS_END, FaultPlan
from tools.simulator.messages.message_content import digits

LONGEST_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Outcome:
    kind: str
    after: float = 0.0  # seconds until it happens

    def plan(self) -> FaultPlan:
        return KINDS[self.kind](self.after)


# The first two reach the phone; of the second and of what is lost the vendor never hears again.
KINDS: dict[str, Callable[[float], FaultPlan]] = {
    "delivered": lambda after: FaultPlan(late=after, arrival=after),
    "unproved": lambda after: FaultPlan(afterwards={RECEIPTS_END}, arrival=after),
    "lost": lambda _after: FaultPlan(afterwards={RECEIPTS_END}),
    "unreachable": lambda after: FaultPlan(answer="unreachable", latency=after),
    "barred": lambda after: FaultPlan(afterwards={BARRED}, late=after),
}

Key = tuple[str, str]  # a phone's digits, a channel


class Outcomes:
    def __init__(self) -> None:
        self._known: dict[Key, Outcome] = {}

    def add(self, outcomes: Mapping[Key, Outcome]) -> None:
        self._known |= outcomes

    def clear(self) -> int:
        cleared = len(self._known)
        self._known.clear()
        return cleared

    def plan(self, phone: str, channel: str) -> FaultPlan | None:
        outcome = self._known.get((phone, channel))
        return outcome.plan() if outcome else None


def read_outcomes(wanted: object) -> tuple[dict[Key, Outcome], dict[str, str]]:
    """`{phone: {channel: {"outcome": …, "after_ms": …}}}`, and what is wrong with it, by phone."""
    if not isinstance(wanted, dict):
        return {}, {"body": "must be a JSON object"}
    errors = {str(phone): error for phone, own in wanted.items() for error in _errors(phone, own)}
    if errors:
        return {}, errors
    return {
        (digits(phone), channel): Outcome(given["outcome"], given.get("after_ms", 0) / 1000)
        for phone, own in wanted.items()
        for channel, given in own.items()
    }, {}


def _errors(phone: str, own: Any) -> Iterator[str]:
    if not 7 <= len(digits(phone)) <= 15 or not isinstance(own, dict):
        yield "must be a phone with 7 to 15 digits, with an object of outcomes by channel"
        return
    for channel, given in own.items():
        if channel not in CHANNELS or not isinstance(given, dict):
            yield f"channels are {', '.join(CHANNELS)}, each with an object"
        elif given.get("outcome") not in KINDS or given.keys() - {"outcome", "after_ms"}:
            yield f"{channel}: outcome must be one of {', '.join(KINDS)}, after_ms may follow"
        elif not _is_delay(given.get("after_ms", 0)):
            yield f"{channel}: after_ms must be a whole number from 0 to {LONGEST_MS}"


def _is_delay(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LONGEST_MS
