"""Whether a share of deliveries is below the company's own norm by more than chance explains."""

from dataclasses import dataclass
from math import exp, log

MIN_ENDED = 20  # messages now: with fewer, one phone that is switched off moves the share
MIN_NORM = 100  # messages of the norm
# Of chance alone to bring so few deliveries. A year of looking every ten minutes has 52,560 looks.
MAX_CHANCE = 1e-6
# Percentage points. With thousands of messages a drop that nobody would act on is no chance, too.
MIN_POINTS = 10.0


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Messages that ended, and how many of them were delivered."""

    delivered: int
    ended: int

    @property
    def share(self) -> float:
        return self.delivered / self.ended


@dataclass(frozen=True, slots=True)
class Drop:
    now: float  # per cent delivered
    norm: float

    @property
    def points(self) -> float:
        return self.norm - self.now


def delivery_drop(now: Outcomes, norm: Outcomes) -> Drop | None:
    """A drop that is neither chance nor a trifle. None while either has too few messages to say.

    `norm` must not contain `now`.
    """
    if now.ended < MIN_ENDED or norm.ended < MIN_NORM:
        return None
    drop = Drop(now=100 * now.share, norm=100 * norm.share)
    is_large = drop.points >= MIN_POINTS
    return drop if is_large and _chance_at_most(now, norm) < MAX_CHANCE else None


def _chance_at_most(now: Outcomes, norm: Outcomes) -> float:
    """Chernoff's upper bound of the binomial tail: exp(-n·KL(now ‖ norm)).

    The normal approximation (a z-test) raised false alarms where failures are few: their
    distribution is skewed. The norm is smoothed by Laplace's rule, so that it is never 0 or 1.
    """
    usual = (norm.delivered + 1) / (norm.ended + 2)
    return exp(-now.ended * (_term(now.share, usual) + _term(1 - now.share, 1 - usual)))


def _term(share: float, usual: float) -> float:
    return share * log(share / usual) if share else 0.0
