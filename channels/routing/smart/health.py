"""A channel's health: deliveries ÷ deliveries expected by its cells' rates; 1 if all is well.

The window of counts restarts when a sequential test (CUSUM over the likelihood ratio) finds that
the share has changed: a dead channel is detected within a few sends, noise is not.
"""

import math
from dataclasses import dataclass, field

from channels.routing.smart.decay import HOUR, weight

HALF_LIFE = 3 * HOUR
# The tested changes, as factors of the present health.
FALL = 0.4
RISE = 2.5
MIN_LOG_LIKELIHOOD_RATIO = 4.6  # about 100 : 1
PRIOR = 1.5  # sends assumed to have gone as expected, so that a dead channel can recover
BEST = 1.0
WORST = 0.02


@dataclass(slots=True)
class Run:
    """A sequential test and the counts since it began."""

    score: float = 0.0
    expected: float = 0.0
    delivered: float = 0.0

    def add(self, gain: float, expected: float, delivered: float) -> bool:
        self.score += gain
        if self.score <= 0:
            self.score = 0.0
            self.expected = 0.0
            self.delivered = 0.0
            return False
        self.expected += expected
        self.delivered += delivered
        return self.score > MIN_LOG_LIKELIHOOD_RATIO


@dataclass(slots=True)
class Health:
    """The health of one channel in one country."""

    at: float
    expected: float = 0.0
    delivered: float = 0.0
    fall: Run = field(default_factory=Run)
    rise: Run = field(default_factory=Run)

    def level(self, now: float) -> float:
        factor = weight(now - self.at, HALF_LIFE)
        value = (self.delivered * factor + PRIOR) / (self.expected * factor + PRIOR)
        return min(BEST, max(WORST, value))

    def record(self, now: float, expected: float, *, delivered: bool) -> None:
        """Records an outcome. `expected`: the probability of a delivery while all is well."""
        level = self.level(now)
        weight_left = weight(now - self.at, HALF_LIFE)
        hit = 1.0 if delivered else 0.0
        self.expected = self.expected * weight_left + expected
        self.delivered = self.delivered * weight_left + hit
        self.at = max(self.at, now)  # outcomes arrive in the order of their sends
        probability = _probability(expected * level)
        for run, factor in ((self.fall, FALL), (self.rise, RISE)):
            other = _probability(expected * min(BEST, level * factor))
            gain = (
                math.log(other / probability)
                if delivered
                else math.log((1 - other) / (1 - probability))
            )
            if run.add(gain, expected, hit):
                self.expected = run.expected
                self.delivered = run.delivered
                self.fall = Run()
                self.rise = Run()
                return

    def correct(self, now: float) -> None:
        """Corrects a send that was counted as silent but was delivered later."""
        self.delivered += weight(now - self.at, HALF_LIFE)
        self.fall.score = max(0.0, self.fall.score - 1.0)


def _probability(value: float) -> float:
    return min(0.98, max(0.005, value))
