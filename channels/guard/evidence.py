"""The scopes of a send, and what each shows: right codes against the norm of its parent.

A sequential test finds when the share began to fall; from then on the counts are judged by the
beta-binomial posterior, or by the odds against people at their worst, and by the tokens that were
charged in excess of the norm. Only prompt deliveries are evidence: a message that came too late to
be used, or never, cost the person, not us.
"""

import math
from dataclasses import dataclass, field
from enum import StrEnum

from channels.routing.smart.decay import DAY, HOUR, Counts, weight


class ScopeKind(StrEnum):
    COUNTRY = "country"
    RANGE = "range"  # an operator's: all but the last seven digits
    TEN_THOUSAND = "prefix-4"
    THOUSAND = "prefix-3"
    HUNDRED = "prefix-2"
    IP = "ip"
    DEVICE = "device"


CUTS = (
    (ScopeKind.RANGE, 7),
    (ScopeKind.TEN_THOUSAND, 4),
    (ScopeKind.THOUSAND, 3),
    (ScopeKind.HUNDRED, 2),
)


@dataclass(frozen=True, slots=True)
class Scope:
    kind: ScopeKind
    value: str


def scopes_of(phone: str, country: str, ip: str = "", device: str = "") -> tuple[Scope, ...]:
    """The scopes of an E.164 number. Without a country its first four characters stand for it."""
    scopes = [Scope(ScopeKind.COUNTRY, country or phone[:4])]
    scopes += [Scope(kind, phone[:-digits]) for kind, digits in CUTS if len(phone) > digits + 2]
    if ip:
        scopes.append(Scope(ScopeKind.IP, ip))
    if device:
        scopes.append(Scope(ScopeKind.DEVICE, device))
    return tuple(scopes)


SUSPECT = 0.5  # of the norm: the share of an attack is taken to be below it
WORST = 0.75  # of the norm: what people enter at their worst
PRIOR = 2.0  # sends
WINDOW = 12 * HOUR
NORM_HALF_LIFE = 7 * DAY
NORM_STRENGTH = 50.0
EASED = 0.7
PEOPLE = 10.0  # right codes lately that show that people are there
EXPLAINED, ROUNDING = 0.8, 1e-6


@dataclass(slots=True)
class Evidence:
    at: float
    norm: Counts = field(default_factory=lambda: Counts(NORM_HALF_LIFE))
    score: float = 0.0  # log likelihood ratio of attack : people since the fall began
    hits: float = 0.0
    misses: float = 0.0
    tokens: float = 0.0  # charged for what was not verified
    pending: int = 0  # delivered, not yet ripe
    refusals: int = 0
    # Held back by itself: what is lost here counts no longer against the people around it.
    is_apart: bool = False
    refused_until: float = -math.inf

    def usual(self, now: float, parent: float) -> float:
        return self.norm.hit_rate(now, parent, NORM_STRENGTH)

    def fade(self, now: float) -> None:
        if now > self.at:
            left = weight(now - self.at, WINDOW)
            self.score *= left
            self.hits *= left
            self.misses *= left
            self.tokens *= left
            self.at = now

    def missed(self, now: float, tokens: float, parent: float) -> None:
        self.fade(now)
        self.norm.add(now, trials=1.0)
        self.misses += 1.0
        self.tokens += tokens
        self.score += math.log((1 - SUSPECT * parent) / (1 - parent))

    def excuse(self, now: float, tokens: float, parent: float) -> None:
        """Takes back a miss: the person entered the same code from a later message."""
        self.fade(now)
        self.norm.add(now, trials=-1.0)
        self.misses = max(0.0, self.misses - 1.0)
        self.tokens = max(0.0, self.tokens - tokens)
        self.score = max(0.0, self.score - math.log((1 - SUSPECT * parent) / (1 - parent)))

    def ease(self) -> None:
        """At a refusal: what led to it counts for less once it is over, so that it takes new losses
        to refuse again, and not many.
        """
        self.misses *= EASED
        self.tokens *= EASED

    def hit(self, now: float, parent: float, *, corrects: float | None = None) -> None:
        """`corrects`: the tokens of a miss that turns out a hit."""
        self.fade(now)
        self.norm.add(now, trials=0.0 if corrects is not None else 1.0, hits=1.0)
        self.hits += 1.0
        self.score += math.log(SUSPECT)
        if corrects is not None:
            self.misses = max(0.0, self.misses - 1.0)
            self.tokens = max(0.0, self.tokens - corrects)
            self.score -= math.log((1 - SUSPECT * parent) / (1 - parent))
        if self.score <= 0:
            self.score = self.hits = self.misses = self.tokens = 0.0
            self.is_apart = False

    @property
    def has_people(self) -> bool:
        return self.norm.hits >= PEOPLE

    def is_explained_by(self, narrower: "Evidence") -> bool:
        """Whether people enter codes here, and nearly all that was lost was lost there."""
        return (
            self.has_people
            and narrower.tokens <= self.tokens * (1 + ROUNDING)
            and narrower.tokens >= EXPLAINED * self.tokens
        )

    def forgive(self, narrower: "Evidence") -> None:
        """Leaves out what was lost there; the counts are otherwise kept."""
        self.misses = max(0.0, self.misses - narrower.misses)
        self.tokens = max(0.0, self.tokens - narrower.tokens)
        self.score = max(0.0, self.score - narrower.score)

    def excess(self, parent: float) -> float:
        """Tokens lost beyond what people's own mistakes would have cost."""
        trials = self.hits + self.misses
        if not self.misses:
            return 0.0
        price = self.tokens / self.misses
        return max(0.0, self.tokens - trials * (1 - parent) * price)

    @property
    def awaited_tokens(self) -> float:
        """What the codes that are not yet ripe cost, at the price of those that were missed. Where
        nobody but an attacker has been seen, they pass for lost until they are entered: neither a
        challenge nor a refusal that is over must be used for a burst.
        """
        return self.pending * self.tokens / self.misses if self.misses else 0.0

    def odds(self, parent: float) -> float:
        """The log likelihood ratio of an attack to people at their worst, since the fall began.

        However often it is asked of one fall, it exceeds x with a probability of at most exp(-x)
        while people enter no less than at their worst (Ville's inequality); of a fall that is seen
        to begin, with about twice that. Fading makes it approximate.
        """
        attack, people = SUSPECT * parent, WORST * parent
        return self.hits * math.log(attack / people) + self.misses * math.log(
            (1 - attack) / (1 - people)
        )

    def doubt(self, parent: float) -> float:
        """The probability that the share is below half its norm."""
        return share_below(SUSPECT * parent, self.hits, self.misses, parent, PRIOR)


def share_below(bound: float, hits: float, misses: float, prior: float, strength: float) -> float:
    """P(share < bound) where the prior, a share, counts as `strength` trials."""
    a, b = hits + strength * prior, misses + strength * (1 - prior)
    return _regularised_beta(max(a, 1e-6), max(b, 1e-6), min(1.0, max(0.0, bound)))


def _regularised_beta(a: float, b: float, x: float) -> float:
    if x <= 0 or x >= 1:
        return float(x >= 1)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1 / (_nonzero(1 - (a + b) * x / (a + 1), tiny))
    value = d
    for m in range(1, 300):
        for factor in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _nonzero(1 + factor * d, tiny)
            c = _nonzero(1 + factor / c, tiny)
            value *= c * d
        if abs(c * d - 1) < 1e-10:
            break
    return value


def _nonzero(value: float, tiny: float) -> float:
    return value if abs(value) > tiny else tiny
