"""Splits a channel's sends over its accounts by correct codes, without flapping.

Rules learned from GOV.UK Notify: points move in steps, never twice within five minutes, not if all
accounts are bad, and drift back to the configured shares once the evidence has faded.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from channels.routing.smart.decay import HOUR, Counts

HALF_LIFE = 6 * HOUR
REVIEW = 300.0  # seconds between changes
STEP = 0.1
MIN_SHARE = 0.05
MARGIN = 0.03  # smaller gaps are ignored
MIN_STANDARD_ERRORS = 2.5  # standard errors that a gap must exceed
STRENGTH = 10.0
ROUNDING = 1e-9


@dataclass(slots=True)
class AccountBalance:
    configured_shares: dict[str, float]
    shares: dict[str, float] = field(default_factory=dict)
    counts: dict[str, Counts] = field(default_factory=dict)
    changed_at: float | None = None
    # Paused accounts get no sends and are left out of comparisons.
    paused: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.shares = self.shares or dict(self.configured_shares)

    def record(self, now: float, account: str, *, verified: bool) -> None:
        counts = self.counts.setdefault(account, Counts(HALF_LIFE, now))
        counts.add(now, trials=1.0, hits=float(verified))
        if self.changed_at is None:
            self.changed_at = now
        if len(self.configured_shares) > 1 and now - self.changed_at >= REVIEW:
            self._review(now)

    def _review(self, now: float) -> None:
        rates = {
            name: self._rate(name, now)
            for name in self.configured_shares
            if name not in self.paused
        }
        movable = [name for name in rates if self.shares[name] > MIN_SHARE + ROUNDING]
        if not movable:
            return
        best = max(rates.values())
        worst = min(movable, key=lambda name: (rates[name], name))
        gap = best - rates[worst]
        if gap > MARGIN and gap > MIN_STANDARD_ERRORS * self._error(worst, rates[worst], now):
            better = [name for name in rates if rates[name] > rates[worst]]
            self._move(worst, better, min(STEP, self.shares[worst] - MIN_SHARE), now)
        elif best - min(rates.values()) < MARGIN / 2:
            self._drift(now)

    def _rate(self, name: str, now: float) -> float:
        counts = self.counts.get(name)
        overall_hits = sum(count.hits for count in self.counts.values())
        overall = sum(count.trials for count in self.counts.values())
        prior = overall_hits / overall if overall else 0.8
        return prior if counts is None else counts.hit_rate(now, prior, STRENGTH)

    def _error(self, name: str, rate: float, now: float) -> float:
        counts = self.counts.get(name)
        trials = STRENGTH + (counts.trials if counts else 0.0)
        return float((max(rate * (1 - rate), 0.01) / trials) ** 0.5)

    def _move(self, worst: str, better: Sequence[str], moved: float, now: float) -> None:
        self.shares[worst] -= moved
        for name in better:
            self.shares[name] += moved / len(better)
        self.changed_at = now

    def _drift(self, now: float) -> None:
        for name, rest in self.configured_shares.items():
            self.shares[name] += max(-STEP, min(STEP, rest - self.shares[name]))
        total = sum(self.shares.values())
        self.shares = {name: share / total for name, share in self.shares.items()}
        self.changed_at = now
