"""Bounded exploration: now and then a channel that is not chosen gets a send, to be seen alive.

Never for a phone with a proven channel; at most so many tokens a day; less and less often while
the probes fail.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from channels.routing.smart.decay import DAY
from channels.routing.smart.plans import Step

TOKENS_A_DAY = 100
PATIENCE = 6  # seconds: SMS follows soon
SHORTEST, LONGEST = 120.0, 1800.0  # seconds between two probes of a channel


@dataclass(slots=True)
class _Probes:
    next_at: float = 0.0
    gap: float = SHORTEST


@dataclass(slots=True)
class Exploration:
    tokens_a_day: int = TOKENS_A_DAY
    probes: dict[tuple[str, str], _Probes] = field(default_factory=dict)
    day: int = 0
    spent: int = 0

    def probe(self, now: float, country: str, left_out: Sequence[tuple[str, int]]) -> Step | None:
        """The channel to try first, of those left out, given with their prices."""
        if int(now // DAY) != self.day:
            self.day, self.spent = int(now // DAY), 0
        for channel, price in left_out:
            found = self.probes.setdefault((country, channel), _Probes(now))
            if now >= found.next_at and self.spent + price <= self.tokens_a_day:
                self.spent += price
                found.next_at = now + found.gap
                found.gap = min(LONGEST, found.gap * 2)
                return Step(channel, PATIENCE)
        return None

    def succeeded(self, country: str, channel: str) -> None:
        found = self.probes.get((country, channel))
        if found is not None:
            found.gap = SHORTEST
