"""The router: plans a send from past outcomes, and learns from its outcome.

Holds its state in memory; the caller stores the rows and passes the time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from channels.routing.smart.account_balance import AccountBalance
from channels.routing.smart.decay import DAY, HOUR, SECONDS, TimeHistogram
from channels.routing.smart.health import Health
from channels.routing.smart.plans import Candidate, Forecast, Plan, PlanStep, choose, median
from channels.routing.smart.reach import (
    Area,
    PhoneHistoryGroup,
    PhoneMemory,
    Reach,
    Standing,
    history_group,
)

SMS = "sms"


class ReasonCode(StrEnum):
    PROVED = "proved"  # the first channel reached this phone before
    LIKELY = "likely"  # it reaches enough similar phones to pay off
    SMS_SURER = "sms_surer"  # messengers would cost time or correct codes
    BARRED = "barred"  # the subscriber bars SMS
    EXPLORED = "explored"
    LEARNED = "learned"  # like `PROVED`, without revealing what other companies' messages taught
    ONLY_ONE = "only_one"  # nothing else is allowed


def reason_for(
    now: float, memory: PhoneMemory, first: str, candidates: Sequence[Candidate], *, explored: bool
) -> ReasonCode:
    """The reason for a plan whose first channel is `first`."""
    if explored:
        return ReasonCode.EXPLORED
    if len(candidates) == 1:
        return ReasonCode.ONLY_ONE
    if memory.standing(first, now) is Standing.PROVED:
        return ReasonCode.PROVED
    if first == SMS:
        return ReasonCode.SMS_SURER
    is_barred = memory.standing(SMS, now) is Standing.BARRED
    return ReasonCode.BARRED if is_barred else ReasonCode.LIKELY


PROBE_TOKENS_A_DAY = 100  # of the whole service
PROBE_PATIENCE = 6  # seconds; SMS follows soon
# Seconds between two probes of a channel.
MIN_GAP = 120.0
MAX_GAP = 1800.0


@dataclass(slots=True)
class _Probes:
    next_at: float = 0.0
    gap: float = MIN_GAP


@dataclass(slots=True)
class Exploration:
    tokens_a_day: int = PROBE_TOKENS_A_DAY
    probes: dict[tuple[str, str], _Probes] = field(default_factory=dict)
    day: int = 0
    spent: int = 0

    def probe(
        self, now: float, country: str, left_out: Sequence[tuple[str, int]]
    ) -> PlanStep | None:
        """The channel to try first among the omitted ones, given with their prices."""
        if int(now // DAY) != self.day:
            self.day = int(now // DAY)
            self.spent = 0
        for channel, price in left_out:
            probes = self.probes.setdefault((country, channel), _Probes(now))
            if now >= probes.next_at and self.spent + price <= self.tokens_a_day:
                self.spent += price
                probes.next_at = now + probes.gap
                probes.gap = min(MAX_GAP, probes.gap * 2)
                return PlanStep(channel, PROBE_PATIENCE)
        return None

    def record_success(self, country: str, channel: str) -> None:
        probes = self.probes.get((country, channel))
        if probes is not None:
            probes.gap = MIN_GAP


# The share of people who still enter a code that arrives at each second.
WAITING = (
    (0.95,) * 15
    + (0.9,) * 15
    + (0.8,) * 15
    + (0.65,) * 15
    + (0.5,) * 30
    + (0.35,) * 30
    + (0.2,) * (SECONDS - 120)
)
TIMES_HALF_LIFE = 12 * HOUR
# Medians in seconds, and sigmas.
PROOF_GUESS = (4.0, 0.8)
CODE_GUESS = (15.0, 0.7)
EVERYWHERE = "*"  # all countries: the parent of a country's histogram
PROBABILITY_STEP = 0.05  # rounding lets similar sends share one computed choice


@dataclass(slots=True)
class Try:
    """A channel that was asked to deliver, and the outcome."""

    area: Area
    channel: str
    past: PhoneHistoryGroup
    expected: float  # probability of delivery while all is well
    at: float
    is_learned_from: bool  # the channel seemed well, so its reach can be judged
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class RoutingChoice:
    plan: Plan
    reason: ReasonCode
    share: float  # expected deliveries of the first channel, out of 1
    proved_before: float | None  # seconds since its last proof with this phone
    alternatives: tuple[Forecast, ...]


@dataclass(slots=True)
class Router:
    prices: Mapping[str, int]
    reach: Reach = field(default_factory=Reach)
    channel_health: dict[tuple[str, str], Health] = field(default_factory=dict)
    proofs: dict[tuple[str, str], TimeHistogram] = field(default_factory=dict)
    codes: dict[tuple[str, str], TimeHistogram] = field(default_factory=dict)
    exploration: Exploration = field(default_factory=Exploration)
    accounts: dict[tuple[str, str], AccountBalance] = field(default_factory=dict)

    # --- Deciding ---

    def decide(
        self, now: float, area: Area, memory: PhoneMemory, allowed: Sequence[str]
    ) -> RoutingChoice:
        """Plans a send. `allowed` by the policy and the guard; at least one channel."""
        usable = [name for name in allowed if memory.standing(name, now) is not Standing.BARRED]
        names = usable or list(allowed)
        candidates = tuple(self._candidate(now, area, memory, name) for name in sorted(names))
        choice = choose(candidates, WAITING)
        plan = choice.best.plan
        probe = self._probe(now, area, memory, names, plan)
        if probe is not None:
            plan = (probe, *(step for step in plan if step.channel != probe.channel))
        first = plan[0].channel
        trace = memory.channels.get(first)
        proved_at = trace.proved_at if trace else None
        return RoutingChoice(
            plan,
            reason_for(now, memory, first, candidates, explored=probe is not None),
            share=next(item.delivered for item in candidates if item.channel == first),
            proved_before=None if proved_at is None else now - proved_at,
            alternatives=choice.alternatives,
        )

    def health(self, now: float, area: Area, channel: str) -> float:
        health = self.channel_health.get((area.country, channel))
        return 1.0 if health is None else health.level(now)

    def _candidate(self, now: float, area: Area, memory: PhoneMemory, name: str) -> Candidate:
        level = self.health(now, area, name)
        first = self._history_group(now, memory, name)
        later = self._history_group(now, memory, name, after_failure=True)
        rate, rate_later = (
            self.reach.delivery_probability(now, area, name, past, is_sms=name == SMS)
            for past in (first, later)
        )
        proof = self._times(self.proofs, area, name, PROOF_GUESS).curve(now)
        return Candidate(
            channel=name,
            price=self.prices[name],
            delivered=_rounded(rate * level),
            delivered_after=_rounded(rate_later * level),
            immediate_refusals=round(self.reach.immediate_refusals(now, area, name, first), 1),
            proof=proof,
            code=self._times(self.codes, area, name, CODE_GUESS).curve(now),
            median_seconds=median(proof),
            is_proved=memory.standing(name, now) is Standing.PROVED,
        )

    def _history_group(
        self, now: float, memory: PhoneMemory, name: str, *, after_failure: bool = False
    ) -> PhoneHistoryGroup:
        if name == SMS:
            return PhoneHistoryGroup(memory.standing(name, now))
        others = [other for other in self.prices if other not in {name, SMS}]
        return history_group(memory, name, others, now, after_failure=after_failure)

    def _probe(
        self, now: float, area: Area, memory: PhoneMemory, names: Sequence[str], plan: Plan
    ) -> PlanStep | None:
        if memory.has_proved(names, now) or SMS not in names:
            return None
        used = {step.channel for step in plan}
        left_out = [
            (name, self.prices[name])
            for name in sorted(names)
            if name not in used and memory.standing(name, now) is Standing.NEW
        ]
        return self.exploration.probe(now, area.country, left_out)

    def _times(
        self,
        histograms: dict[tuple[str, str], TimeHistogram],
        area: Area,
        channel: str,
        guess: tuple[float, float],
    ) -> TimeHistogram:
        times = histograms.get((area.country, channel))
        if times is None:
            parent = histograms.get((EVERYWHERE, channel))
            if parent is None:
                parent = histograms[EVERYWHERE, channel] = TimeHistogram(*guess, TIMES_HALF_LIFE)
            times = TimeHistogram(*guess, TIMES_HALF_LIFE, parent)
            histograms[area.country, channel] = times
        return times

    # --- Learning ---

    def begin_try(self, now: float, area: Area, memory: PhoneMemory, channel: str, n: int) -> Try:
        """Begins a try: step `n` of a plan was handed over."""
        past = self._history_group(now, memory, channel, after_failure=n > 0)
        expected = self.reach.delivery_probability(now, area, channel, past, is_sms=channel == SMS)
        well = self.health(now, area, channel) > 0.6
        return Try(area, channel, past, expected, now, well)

    def record_refusal(
        self, now: float, step: Try, memory: PhoneMemory, *, barred: bool = False
    ) -> None:
        self._outcome(now, step, "refused")
        memory.record_refusal(step.channel, now, barred=barred)

    def record_unproved(self, now: float, step: Try, memory: PhoneMemory) -> None:
        """Records that no proof arrived within the patience; `record_delivery` corrects it."""
        self._outcome(now, step, "unproved")
        if step.is_learned_from:
            memory.record_unproved(step.channel, now)

    def record_delivery(self, now: float, step: Try, memory: PhoneMemory) -> None:
        if step.outcome == "delivered":
            return
        late = step.outcome == "unproved"
        if late:
            if step.is_learned_from:
                self.reach.record(now, step.area, step.channel, step.past, hits=1.0)
            self._health(now, step).correct(now)
            step.outcome = "delivered"
        else:
            self._outcome(now, step, "delivered")
        seconds = now - step.at
        _add_time(self._times(self.proofs, step.area, step.channel, PROOF_GUESS), now, seconds)
        memory.record_proof(step.channel, now)
        self.exploration.record_success(step.area.country, step.channel)

    def record_entry(self, now: float, step: Try, memory: PhoneMemory) -> None:
        """Records a correct code that only this try can have brought."""
        self.record_delivery(now, step, memory)
        _add_time(self._times(self.codes, step.area, step.channel, CODE_GUESS), now, now - step.at)

    def _outcome(self, now: float, step: Try, outcome: str) -> None:
        if step.outcome:
            return
        step.outcome = outcome
        hit = outcome == "delivered"
        if step.is_learned_from:
            self.reach.record(
                now,
                step.area,
                step.channel,
                step.past,
                trials=1.0,
                hits=float(hit),
                refusals=float(outcome == "refused"),
            )
        self._health(now, step).record(now, step.expected, delivered=hit)

    def _health(self, now: float, step: Try) -> Health:
        key = step.area.country, step.channel
        health = self.channel_health.get(key)
        if health is None:
            health = self.channel_health[key] = Health(now)
        return health


def _add_time(times: TimeHistogram, now: float, seconds: float) -> None:
    times.add(now, seconds)
    if times.parent is not None:
        times.parent.add(now, seconds)


def _rounded(value: float) -> float:
    return round(min(1.0, max(0.0, value)) / PROBABILITY_STEP) * PROBABILITY_STEP
