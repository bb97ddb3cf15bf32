"""Counts and histograms of times that fade: each half-life halves the weight of old ones."""

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

HOUR = 3600.0
DAY = 86400.0
_LN2 = math.log(2)


def weight(age: float, half_life: float) -> float:
    """The remaining weight of a count of 1 after `age` seconds."""
    return math.exp(-_LN2 * age / half_life) if age > 0 else 1.0


@dataclass(slots=True)
class Counts:
    """Counts of trials and of two outcomes, discounted to the time `at`."""

    half_life: float
    at: float = 0.0
    trials: float = 0.0
    hits: float = 0.0
    refusals: float = 0.0  # trials that were refused immediately

    def add(
        self, now: float, *, trials: float = 0.0, hits: float = 0.0, refusals: float = 0.0
    ) -> None:
        """Adds amounts, which may be negative: a late outcome corrects an earlier one."""
        if now > self.at:
            factor = weight(now - self.at, self.half_life)
            self.trials *= factor
            self.hits *= factor
            self.refusals *= factor
            self.at = now
        self.trials = max(0.0, self.trials + trials)
        self.hits = max(0.0, self.hits + hits)
        self.refusals = max(0.0, self.refusals + refusals)

    def hit_rate(self, now: float, prior: float, strength: float) -> float:
        """The hit rate, shrunk to `prior`, which counts as `strength` trials."""
        factor = weight(now - self.at, self.half_life)
        return (self.hits * factor + strength * prior) / (self.trials * factor + strength)

    def refusal_rate(self, now: float, prior: float, strength: float) -> float:
        """The share of refusals among trials without a hit."""
        factor = weight(now - self.at, self.half_life)
        missed = max(0.0, self.trials - self.hits)
        return min(1.0, (self.refusals * factor + strength * prior) / (missed * factor + strength))


SECONDS = 181  # a curve has a value for each second from 0 to 180
EDGES = tuple(0.5 * 1.22**n for n in range(31))  # 0.5 s to 195 s

PRIOR_STRENGTH = 8.0
PARENT_STRENGTH = 30.0  # observations that a histogram borrows from its parent


def log_normal_cdf(median: float, sigma: float) -> Callable[[float], float]:
    def cdf(seconds: float) -> float:
        if seconds <= 0:
            return 0.0
        return 0.5 * (1 + math.erf(math.log(seconds / median) / (sigma * math.sqrt(2))))

    return cdf


class TimeHistogram:
    """A learned distribution of times, which starts from a prior worth a few observations.

    A histogram with a parent, such as a channel's in one country, begins empty and borrows from the
    parent.
    """

    def __init__(
        self, median: float, sigma: float, half_life: float, parent: "TimeHistogram | None" = None
    ) -> None:
        cdf = log_normal_cdf(median, sigma)
        ends = [0.0, *(cdf(edge) for edge in EDGES), 1.0]
        strength = 0.0 if parent else PRIOR_STRENGTH
        self.bins = [strength * (b - a) for a, b in pairwise(ends)]
        self.parent = parent
        self.half_life = half_life
        self.at = -math.inf
        self.unread = PRIOR_STRENGTH  # observations since the curve was last computed
        self._curve: tuple[float, ...] = ()
        self._curve_at = -math.inf

    def add(self, now: float, seconds: float) -> None:
        if self.at > -math.inf and now - self.at > self.half_life / 64:
            factor = weight(now - self.at, self.half_life)
            self.bins = [count * factor for count in self.bins]
            self.at = now
        elif self.at == -math.inf:
            self.at = now
        self.bins[bisect_right(EDGES, seconds)] += 1.0
        self.unread += 1.0

    def _all_bins(self) -> Sequence[float]:
        if self.parent is None:
            return self.bins
        part = PARENT_STRENGTH / sum(self.parent.bins)
        return [
            n + part * borrowed for n, borrowed in zip(self.bins, self.parent.bins, strict=True)
        ]

    def curve(self, now: float) -> tuple[float, ...]:
        """The share that has happened by each second, recomputed once enough was learned."""
        due = self.unread >= max(16.0, 0.1 * sum(self.bins)) or now - self._curve_at > HOUR
        if not self._curve or (due and self.unread >= 8):
            self._curve = curve_of(self._all_bins())
            self._curve_at = now
            self.unread = 0.0
        return self._curve


def curve_of(bins: Sequence[float]) -> tuple[float, ...]:
    """Cumulative shares at whole seconds, straight lines within a bin."""
    total = sum(bins)
    starts = (0.0, *EDGES)
    values: list[float] = []
    below = 0.0
    index = 0
    for second in range(SECONDS):
        while index < len(EDGES) and EDGES[index] <= second:
            below += bins[index]
            index += 1
        start = starts[index]
        end = EDGES[index] if index < len(EDGES) else start * 2
        part = bins[index] * (second - start) / (end - start)
        values.append(min(1.0, (below + part) / total))
    return tuple(values)


def quantile(curve: Sequence[float], share: float) -> int:
    """The first whole second by which that share has happened; 180 at most."""
    target = share * curve[-1]
    return next(second for second, value in enumerate(curve) if value >= target)
