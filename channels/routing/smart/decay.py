"""Counts of which old ones weigh less: each half-life halves them."""

import math
from dataclasses import dataclass

HOUR = 3600.0
DAY = 86400.0
_LN2 = math.log(2)


def weight(age: float, half_life: float) -> float:
    """What is left of a count of 1 after `age` seconds."""
    return math.exp(-_LN2 * age / half_life) if age > 0 else 1.0


@dataclass(slots=True)
class Counts:
    """Trials, and two kinds of outcomes, all discounted to the moment `at`."""

    half_life: float
    at: float = 0.0
    trials: float = 0.0
    hits: float = 0.0
    marks: float = 0.0  # of the trials without a hit

    def add(
        self, now: float, *, trials: float = 0.0, hits: float = 0.0, marks: float = 0.0
    ) -> None:
        """Amounts may be negative: a late outcome corrects an earlier one."""
        if now > self.at:
            left = weight(now - self.at, self.half_life)
            self.trials *= left
            self.hits *= left
            self.marks *= left
            self.at = now
        self.trials = max(0.0, self.trials + trials)
        self.hits = max(0.0, self.hits + hits)
        self.marks = max(0.0, self.marks + marks)

    def hit_rate(self, now: float, prior: float, strength: float) -> float:
        """Shrunk to `prior`, which counts as `strength` trials."""
        left = weight(now - self.at, self.half_life)
        return (self.hits * left + strength * prior) / (self.trials * left + strength)

    def mark_rate(self, now: float, prior: float, strength: float) -> float:
        """Of the trials without a hit."""
        left = weight(now - self.at, self.half_life)
        missed = max(0.0, self.trials - self.hits)
        return min(1.0, (self.marks * left + strength * prior) / (missed * left + strength))
