"""The scopes of a send and their evidence: correct codes against the company's norm.

A sequential test finds when the share began to fall. The counts since then are judged by the odds
of an attack against people at their lowest rate, or by a bound on chance, and by the tokens charged
in excess of the norm. Only prompt deliveries are evidence: a message that arrived too late to be
used, or never, cost the person, not us.
"""

import math
from dataclasses import dataclass, field
from enum import StrEnum

from channels.routing.smart.decay import DAY, HOUR, Counts, weight


class ScopeKind(StrEnum):
    COMPANY = "company"  # all its sends: only their norm is kept
    COUNTRY = "country"
    RANGE = "range"  # a carrier's range: all but the last seven digits
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
class GuardScope:
    kind: ScopeKind
    value: str


def scopes_of(phone: str, country: str, ip: str = "", device: str = "") -> tuple[GuardScope, ...]:
    """The scopes of an E.164 number. Without a country its first four characters stand for it."""
    scopes = [GuardScope(ScopeKind.COUNTRY, country or phone[:4])]
    scopes += [
        GuardScope(kind, phone[:-digits]) for kind, digits in CUTS if len(phone) > digits + 2
    ]
    if ip:
        scopes.append(GuardScope(ScopeKind.IP, ip))
    if device:
        scopes.append(GuardScope(ScopeKind.DEVICE, device))
    return tuple(scopes)


ATTACK_RATE_RATIO = 0.5  # of the norm: an attack is assumed to have a lower share
LOWEST_RATE_RATIO = 0.75  # of the norm: the lowest share expected of people
WINDOW = 12 * HOUR
NORM_HALF_LIFE = 7 * DAY
NORM_STRENGTH = 50.0
DISCOUNT_AFTER_REFUSAL = 0.7
MIN_CORRECT_CODES = 10.0  # recent correct codes that prove the presence of people
MIN_LOSS_SHARE = 0.8
ROUNDING = 1e-6
# A number that entered a code at least this long ago passes every step, with this many codes a day
# since its newest correct code: a bought number may have entered one.
KNOWN_AFTER = DAY
KNOWN_CODES = 3
# Only this many codes to one phone count against the numbers around it: a developer's own phone, or
# a bombed one, says nothing about them. Codes with which a known phone passes come on top.
COUNTED_OF_PHONE = 3
PHONE_WINDOW = 12 * HOUR

_STORED_SENDS = COUNTED_OF_PHONE + KNOWN_CODES + 1


@dataclass(slots=True)
class ScopeEvidence:
    at: float
    norm: Counts = field(default_factory=lambda: Counts(NORM_HALF_LIFE))
    score: float = 0.0  # log likelihood ratio of attack to people since the fall began
    hits: float = 0.0
    misses: float = 0.0
    tokens: float = 0.0  # charged for missed codes
    pending: int = 0  # delivered, not yet mature
    refusals: int = 0
    # A restriction of this scope's own is in force: losses here no longer count against the people
    # around it.
    is_apart: bool = False
    refused_until: float = -math.inf

    def fade(self, now: float) -> None:
        if now > self.at:
            factor = weight(now - self.at, WINDOW)
            self.score *= factor
            self.hits *= factor
            self.misses *= factor
            self.tokens *= factor
            self.at = now

    def record_miss(self, now: float, tokens: float, usual_rate: float) -> None:
        self.fade(now)
        self.norm.add(now, trials=1.0)
        self.misses += 1.0
        self.tokens += tokens
        self.score += math.log((1 - ATTACK_RATE_RATIO * usual_rate) / (1 - usual_rate))

    def undo_miss(self, now: float, tokens: float, usual_rate: float) -> None:
        """Takes a miss back: the person entered the same code from a later message."""
        self.fade(now)
        self.norm.add(now, trials=-1.0)
        self._subtract_miss(tokens, usual_rate)
        self.score = max(0.0, self.score)

    def discount(self) -> None:
        """Discounts the evidence of a refusal: after its end, few new losses cause the next one."""
        self.misses *= DISCOUNT_AFTER_REFUSAL
        self.tokens *= DISCOUNT_AFTER_REFUSAL

    def record_hit(self, now: float, usual_rate: float, *, corrects: float | None = None) -> None:
        """Records a correct code. `corrects`: the tokens of a miss that it corrects."""
        self.fade(now)
        self.norm.add(now, trials=0.0 if corrects is not None else 1.0, hits=1.0)
        self.hits += 1.0
        self.score += math.log(ATTACK_RATE_RATIO)
        if corrects is not None:
            self._subtract_miss(corrects, usual_rate)
        if self.score <= 0:
            self.score = 0.0
            self.hits = 0.0
            self.misses = 0.0
            self.tokens = 0.0
            self.is_apart = False

    def _subtract_miss(self, tokens: float, usual_rate: float) -> None:
        self.misses = max(0.0, self.misses - 1.0)
        self.tokens = max(0.0, self.tokens - tokens)
        self.score -= math.log((1 - ATTACK_RATE_RATIO * usual_rate) / (1 - usual_rate))

    @property
    def has_people(self) -> bool:
        return self.norm.hits >= MIN_CORRECT_CODES

    def is_explained_by(self, narrower: "ScopeEvidence") -> bool:
        """Whether people enter codes in this scope, and nearly all of its losses occurred in
        `narrower`.
        """
        return (
            self.has_people
            and narrower.tokens <= self.tokens * (1 + ROUNDING)
            and narrower.tokens >= MIN_LOSS_SHARE * self.tokens
        )

    def subtract(self, narrower: "ScopeEvidence") -> None:
        """Subtracts the losses of a narrower scope; correct codes stay counted."""
        self.misses = max(0.0, self.misses - narrower.misses)
        self.tokens = max(0.0, self.tokens - narrower.tokens)
        self.score = max(0.0, self.score - narrower.score)

    def excess(self, usual_rate: float) -> float:
        """Tokens lost beyond the cost of people's own mistakes."""
        trials = self.hits + self.misses
        if not self.misses:
            return 0.0
        price = self.tokens / self.misses
        return max(0.0, self.tokens - trials * (1 - usual_rate) * price)

    @property
    def awaited_tokens(self) -> float:
        """The cost of codes that are not yet mature, at the price of the missed codes.

        While only an attacker has been seen, they count as lost until they are entered: otherwise
        a challenge or a refusal that has ended could be used for a burst.
        """
        return self.pending * self.tokens / self.misses if self.misses else 0.0

    def odds(self, usual_rate: float) -> float:
        """The log likelihood ratio since the fall began: ATTACK_RATE_RATIO against
        LOWEST_RATE_RATIO of the usual rate.

        If people enter at least the latter, it ever exceeds x with a probability of at most exp(-x)
        (Ville's inequality), or about twice that because the test chose the start of the fall.
        Fading makes this approximate.
        """
        attack = ATTACK_RATE_RATIO * usual_rate
        people = LOWEST_RATE_RATIO * usual_rate
        return self.hits * math.log(attack / people) + self.misses * math.log(
            (1 - attack) / (1 - people)
        )

    def certainty(self, usual_rate: float) -> float:
        """-log of Chernoff's bound on the probability of so few correct codes if people enter half
        the norm.
        """
        trials = self.hits + self.misses
        share = ATTACK_RATE_RATIO * usual_rate
        if not trials or self.hits >= share * trials:
            return 0.0
        missed = self.misses * math.log(self.misses / trials / (1 - share))
        return missed + (self.hits * math.log(self.hits / trials / share) if self.hits else 0.0)


@dataclass(slots=True)
class PhoneHistory:
    """The codes of one phone with one company; times in seconds.

    A phone that entered a code before passes whatever the guard finds, with a few codes a day. The
    history forgets no correct code: build it only from rows of the time that counts.
    """

    first_entered: float | None = None
    last_entered: float | None = None
    sent: tuple[float, ...] = ()  # the newest codes, oldest first

    def record_send(self, at: float) -> None:
        self.sent = (*self.sent, at)[-_STORED_SENDS:]

    def record_entry(self, at: float) -> None:
        if self.first_entered is None:
            self.first_entered = at
        self.last_entered = at

    def is_known(self, now: float) -> bool:
        """Whether a code sent now passes every step, and so is no evidence."""
        if self.last_entered is None or not self.is_remembered(now):
            return False
        since = min(self.last_entered, now - KNOWN_AFTER)
        return self._sent_since(since) < KNOWN_CODES

    def is_remembered(self, now: float) -> bool:
        return self.first_entered is not None and now - self.first_entered > KNOWN_AFTER

    def is_counted(self, now: float) -> bool:
        """Whether a miss now counts against the numbers around the phone."""
        extra = KNOWN_CODES if self.is_remembered(now) else 0
        return self._sent_since(now - PHONE_WINDOW) <= COUNTED_OF_PHONE + extra

    def _sent_since(self, moment: float) -> int:
        return sum(at > moment for at in self.sent)
