"""The router: plans a send from past outcomes, and learns from its outcome.

Holds its state in memory and is told the time; who calls it keeps the rows and the clock.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from channels.routing.smart.account_balance import AccountBalance
from channels.routing.smart.decay import DAY, HOUR, SECONDS, Counts, TimeHistogram
from channels.routing.smart.health import Health
from channels.routing.smart.plans import LAST, Candidate, Choice, Curve, Plan, Step, choose, median
from channels.routing.smart.reach import Area, PhoneMemory, Reach, Standing, Stratum, stratum


class ReasonCode(StrEnum):
    PROVED = "proved"  # the first channel reached this phone before
    LIKELY = "likely"  # it reaches enough phones like this one to pay off
    SMS_SURER = "sms_surer"  # messengers would cost time or right codes
    BARRED = "barred"  # the subscriber bars SMS
    EXPLORED = "explored"
    LEARNED = "learned"  # as `PROVED`, where how it is known is nobody's business
    ONLY_ONE = "only_one"  # nothing else is allowed


@dataclass(frozen=True, slots=True)
class Reason:
    code: ReasonCode
    channel: str  # the first of the plan
    country: str
    share: float  # expected deliveries of the first channel, of 1
    proved_before: float | None = None  # seconds since its last proof with this phone
    patience: int | None = None


def reason_for(
    now: float,
    area: Area,
    memory: PhoneMemory,
    plan: Plan,
    candidates: Sequence[Candidate],
    *,
    explored: bool,
) -> Reason:
    first = plan[0]
    share = next(item.delivered for item in candidates if item.channel == first.channel)
    trace = memory.channels.get(first.channel)
    proved_at = trace.proved_at if trace else None
    if explored:
        code = ReasonCode.EXPLORED
    elif len(candidates) == 1:
        code = ReasonCode.ONLY_ONE
    elif memory.standing(first.channel, now) is Standing.PROVED:
        code = ReasonCode.PROVED
    elif first.channel == "sms":
        code = ReasonCode.SMS_SURER
    elif memory.standing("sms", now) is Standing.BARRED:
        code = ReasonCode.BARRED
    else:
        code = ReasonCode.LIKELY
    return Reason(
        code=code,
        channel=first.channel,
        country=area.country,
        share=share,
        proved_before=None if proved_at is None else now - proved_at,
        patience=first.patience,
    )


PROBE_TOKENS_A_DAY = 100
PROBE_PATIENCE = 6  # seconds: SMS follows soon
SHORTEST_GAP, LONGEST_GAP = 120.0, 1800.0  # seconds between two probes of a channel


@dataclass(slots=True)
class _Probes:
    next_at: float = 0.0
    gap: float = SHORTEST_GAP


@dataclass(slots=True)
class Exploration:
    tokens_a_day: int = PROBE_TOKENS_A_DAY
    probes: dict[tuple[str, str], _Probes] = field(default_factory=dict)
    day: int = 0
    spent: int = 0

    def probe(self, now: float, country: str, left_out: Sequence[tuple[str, int]]) -> Step | None:
        """The channel to try first, of those left out, given with their prices."""
        if int(now // DAY) != self.day:
            self.day, self.spent = int(now // DAY), 0
        for channel, price in left_out:
            probes = self.probes.setdefault((country, channel), _Probes(now))
            if now >= probes.next_at and self.spent + price <= self.tokens_a_day:
                self.spent += price
                probes.next_at = now + probes.gap
                probes.gap = min(LONGEST_GAP, probes.gap * 2)
                return Step(channel, PROBE_PATIENCE)
        return None

    def succeeded(self, country: str, channel: str) -> None:
        probes = self.probes.get((country, channel))
        if probes is not None:
            probes.gap = SHORTEST_GAP


STAY_EDGES = (5, 10, 15, 20, 30, 45, 60, 90, 120, SECONDS)  # seconds until a code arrives
STAY_GUESS = (0.95, 0.94, 0.93, 0.91, 0.88, 0.8, 0.65, 0.5, 0.35, 0.2)
TIMES_HALF_LIFE = 12 * HOUR
STAY_HALF_LIFE = 14 * DAY
PROOF_GUESS, CODE_GUESS = (4.0, 0.8), (15.0, 0.7)  # median and sigma, in seconds
EVERYWHERE = "*"  # instead of a country, which may be unknown: what histograms borrow from
GRAIN = 0.05  # probabilities are rounded, so that like sends share one computed choice
SMS = "sms"


@dataclass(slots=True)
class Try:
    """One channel that was asked."""

    area: Area
    channel: str
    past: Stratum
    expected: float  # probability of delivery while all is well
    at: float
    is_learned_from: bool  # the channel seemed well, so its reach can be judged
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    plan: Plan
    reason: Reason
    choice: Choice


@dataclass(slots=True)
class Router:
    prices: Mapping[str, int]
    reach: Reach = field(default_factory=Reach)
    healths: dict[tuple[str, str], Health] = field(default_factory=dict)
    proofs: dict[tuple[str, str], TimeHistogram] = field(default_factory=dict)
    codes: dict[tuple[str, str], TimeHistogram] = field(default_factory=dict)
    stays: list[Counts] = field(default_factory=list)
    exploration: Exploration = field(default_factory=Exploration)
    accounts: dict[tuple[str, str], AccountBalance] = field(default_factory=dict)
    _stay_curve: Curve = ()
    _stays_at: float = 0.0

    # --- Deciding ---

    def decide(
        self, now: float, area: Area, memory: PhoneMemory, allowed: Sequence[str]
    ) -> Decision:
        """`allowed` by the policy and the guard; at least one."""
        usable = [name for name in allowed if memory.standing(name, now) is not Standing.BARRED]
        names = usable or list(allowed)
        candidates = tuple(
            self._candidate(now, area, memory, name, names) for name in sorted(names)
        )
        choice = choose(candidates, self._stay(now))
        plan = choice.best.plan
        probe = self._probe(now, area, memory, names, plan)
        if probe is not None:
            plan = (probe, *(step for step in plan if step.channel != probe.channel))
        reason = reason_for(now, area, memory, plan, candidates, explored=probe is not None)
        return Decision(plan, reason, choice)

    def health(self, now: float, area: Area, channel: str) -> float:
        health = self.healths.get((area.country, channel))
        return 1.0 if health is None else health.level(now)

    def _candidate(
        self, now: float, area: Area, memory: PhoneMemory, name: str, names: Sequence[str]
    ) -> Candidate:
        level = self.health(now, area, name)
        first = self._past(now, memory, name, names, after_failure=False)
        later = self._past(now, memory, name, names, after_failure=True)
        rate = self.reach.delivered(now, area, name, first, is_sms=name == SMS)
        rate_later = rate
        if later != first:
            rate_later = self.reach.delivered(now, area, name, later, is_sms=False)
        proof = self._times(self.proofs, area, name, PROOF_GUESS).curve(now)
        return Candidate(
            channel=name,
            price=self.prices[name],
            delivered=_rounded(rate * level),
            delivered_after=_rounded(rate_later * level),
            refused_at_once=round(self.reach.refused_at_once(now, area, name, first), 1),
            proof=proof,
            code=self._times(self.codes, area, name, CODE_GUESS).curve(now),
            median_seconds=median(proof),
            is_proved=memory.standing(name, now) is Standing.PROVED,
        )

    def _past(
        self,
        now: float,
        memory: PhoneMemory,
        name: str,
        names: Sequence[str],
        *,
        after_failure: bool,
    ) -> Stratum:
        if name == SMS:
            return Stratum(memory.standing(name, now))
        sisters = [other for other in self.prices if other not in {name, SMS}]
        return stratum(memory, name, sisters, now, after_failure=after_failure and bool(names))

    def _probe(
        self, now: float, area: Area, memory: PhoneMemory, names: Sequence[str], plan: Plan
    ) -> Step | None:
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
        kept: dict[tuple[str, str], TimeHistogram],
        area: Area,
        channel: str,
        guess: tuple[float, float],
    ) -> TimeHistogram:
        times = kept.get((area.country, channel))
        if times is None:
            parent = kept.get((EVERYWHERE, channel))
            if parent is None:
                parent = kept[EVERYWHERE, channel] = TimeHistogram(*guess, TIMES_HALF_LIFE)
            times = TimeHistogram(*guess, TIMES_HALF_LIFE, parent)
            kept[area.country, channel] = times
        return times

    def _stay(self, now: float) -> Curve:
        if not self.stays:
            self.stays = [Counts(STAY_HALF_LIFE, now) for _ in STAY_EDGES]
        if not self._stay_curve or now - self._stays_at > 12 * HOUR:
            rates = [
                _rounded(counts.hit_rate(now, guess, 20.0))
                for counts, guess in zip(self.stays, STAY_GUESS, strict=True)
            ]
            self._stay_curve = tuple(rates[_stay_bin(second)] for second in range(SECONDS))
            self._stays_at = now
        return self._stay_curve

    # --- Learning ---

    def asked(self, now: float, area: Area, memory: PhoneMemory, channel: str, n: int) -> Try:
        """Step `n` of a plan was handed over."""
        past = self._past(now, memory, channel, (channel,), after_failure=n > 0)
        expected = self.reach.delivered(now, area, channel, past, is_sms=channel == SMS)
        well = self.health(now, area, channel) > 0.6
        return Try(area, channel, past, expected, now, well)

    def refused(self, now: float, step: Try, memory: PhoneMemory, *, barred: bool = False) -> None:
        self._outcome(now, step, "refused")
        memory.refused(step.channel, now, barred=barred)

    def silent(self, now: float, step: Try, memory: PhoneMemory) -> None:
        """No proof when patience ended; a later `delivered` corrects it."""
        self._outcome(now, step, "silent")
        if step.is_learned_from:
            memory.silent(step.channel, now)

    def delivered(self, now: float, step: Try, memory: PhoneMemory) -> None:
        if step.outcome == "delivered":
            return
        late = step.outcome == "silent"
        if late:
            if step.is_learned_from:
                self.reach.record(now, step.area, step.channel, step.past, hits=1.0)
            self._health(now, step).correct(now)
            step.outcome = "delivered"
        else:
            self._outcome(now, step, "delivered")
        seconds = now - step.at
        _add_time(self._times(self.proofs, step.area, step.channel, PROOF_GUESS), now, seconds)
        memory.proved(step.channel, now)
        self.exploration.succeeded(step.area.country, step.channel)

    def entered(self, now: float, step: Try, memory: PhoneMemory) -> None:
        """A right code that this try alone can have brought."""
        self.delivered(now, step, memory)
        _add_time(self._times(self.codes, step.area, step.channel, CODE_GUESS), now, now - step.at)
        memory.verified(step.channel, now, now - step.at)

    def stayed(self, now: float, arrived_after: float, *, verified: bool) -> None:
        """Whether the person entered a code that arrived after `arrived_after` seconds."""
        self._stay(now)
        self.stays[_stay_bin(min(LAST, int(arrived_after)))].add(
            now, trials=1.0, hits=float(verified)
        )

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
                marks=float(outcome == "refused"),
            )
        self._health(now, step).record(now, step.expected, delivered=hit)

    def _health(self, now: float, step: Try) -> Health:
        key = step.area.country, step.channel
        health = self.healths.get(key)
        if health is None:
            health = self.healths[key] = Health(now)
        return health


def _add_time(times: TimeHistogram, now: float, seconds: float) -> None:
    times.add(now, seconds)
    if times.parent is not None:
        times.parent.add(now, seconds)


def _stay_bin(second: int) -> int:
    return next(n for n, edge in enumerate(STAY_EDGES) if second < edge)


def _rounded(value: float) -> float:
    return round(min(1.0, max(0.0, value)) / GRAIN) * GRAIN
