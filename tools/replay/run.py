"""Plays one world with one seed by every policy, counts, and says what came of it."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from channels.guard.guard import GuardStep
from channels.routing.smart.plans import Plan, PlanStep
from tools.bench.results import percentile
from tools.replay.policies import Oracle, SmartPolicy
from tools.replay.timeline import Outcome, Send, play, sends
from tools.replay.world import DAY, SMS, World

POLICIES = ("sms", "baseline", "ours", "oracle")
SMS_PRICE = 16
MESSENGER_PRICE = 1
BASELINE_PATIENCE = 30


@dataclass(slots=True)
class Tally:
    """Figures of the honest sends after the warm-up."""

    sends: int = 0
    verified: int = 0
    tokens: int = 0
    times: list[float] = field(default_factory=list)
    tokens_by_day: dict[int, list[int]] = field(default_factory=dict)  # tokens, verified

    def add(self, at: float, outcome: Outcome | None) -> None:
        self.sends += 1
        day = self.tokens_by_day.setdefault(int(at // DAY), [0, 0])
        if outcome is None:
            return
        self.tokens += outcome.tokens
        day[0] += outcome.tokens
        if outcome.verified < math.inf:
            self.verified += 1
            day[1] += 1
            self.times.append(outcome.verified)

    def quantile(self, share: float) -> float | None:
        return round(percentile(self.times, share), 2) if self.times else None


@dataclass(slots=True)
class AttackTally:
    sends: int = 0
    tokens_lost: int = 0
    sends_until_stopped: int | None = None
    seconds_until_stopped: float | None = None


@dataclass(slots=True)
class HonestTally:
    sends: int = 0
    refused: int = 0
    challenged: int = 0
    cheap_only: int = 0


@dataclass(slots=True)
class Recovery:
    """The honest sends since a channel changed, in the country concerned, until it changed back."""

    seconds: list[float] = field(default_factory=list)  # since the change
    ours: list[bool] = field(default_factory=list)  # verified
    oracle: list[bool] = field(default_factory=list)


@dataclass(slots=True)
class Result:
    world: str
    seed: int
    policies: dict[str, Tally]
    attacks: list[AttackTally]
    honest: HonestTally
    recoveries: list[Recovery]


def prices_of(world: World) -> dict[str, int]:
    return {name: SMS_PRICE if name == SMS else MESSENGER_PRICE for name in world.channels}


def fixed_plans(world: World) -> dict[str, Plan]:
    """Plans of the policies that are the same for everybody."""
    return {
        "sms": (PlanStep(SMS, None),),
        "baseline": tuple(PlanStep(name, BASELINE_PATIENCE) for name in world.baseline),
    }


def run(world: World, seed: int) -> Result:
    prices, fixed = prices_of(world), fixed_plans(world)
    ours, oracle = SmartPolicy(world, prices), Oracle(world, prices)
    result = Result(
        world.name,
        seed,
        {name: Tally() for name in POLICIES},
        [AttackTally() for _ in world.attacks],
        HonestTally(),
        [Recovery() for _ in world.changes],
    )
    for send in sends(world, seed):
        outcome, assessment = ours.send(send)
        if send.attack is not None:
            _count_attack(result.attacks[send.attack], world, send, outcome, assessment.step)
        elif send.at >= 0:
            _count_honest(result.honest, assessment.step)
            result.policies["ours"].add(send.at, outcome)
            for name, plan in fixed.items():
                result.policies[name].add(send.at, play(world, send, plan, prices))
            oracle_plan = oracle.plan(send)
            best = {step.channel: _best_account(world, send, step.channel) for step in oracle_plan}
            oracle_outcome = play(world, send, oracle_plan, prices, best)
            result.policies["oracle"].add(send.at, oracle_outcome)
            _count_recoveries(result.recoveries, world, send, outcome, oracle_outcome)
    return result


def _best_account(world: World, send: Send, channel: str) -> str:
    items = world.accounts.get(channel, ())
    if not items:
        return ""
    return min(
        items, key=lambda row: world.behaviour(channel, send.person.place, row.name, send.at).lost
    ).name


def _count_recoveries(
    tallies: list[Recovery], world: World, send: Send, ours: Outcome | None, oracle: Outcome
) -> None:
    for tally, change in zip(tallies, world.changes, strict=True):
        is_concerned = change.country in {None, send.person.place.country}
        if is_concerned and change.start <= send.at < change.end:
            tally.seconds.append(send.at - change.start)
            tally.ours.append(ours is not None and ours.verified < math.inf)
            tally.oracle.append(oracle.verified < math.inf)


def _count_attack(
    tally: AttackTally, world: World, send: Send, outcome: Outcome | None, step: GuardStep
) -> None:
    """Stopped: the first send that no longer gets a paid SMS; tokens lost later count too."""
    tally.sends += 1
    if outcome is not None:
        tally.tokens_lost += outcome.tokens
    if tally.sends_until_stopped is None and step is not GuardStep.ALLOW:
        tally.sends_until_stopped = tally.sends - 1
        start = world.attacks[send.attack or 0].start
        tally.seconds_until_stopped = round(send.at - start, 1)


def _count_honest(tally: HonestTally, step: GuardStep) -> None:
    tally.sends += 1
    tally.refused += step is GuardStep.REFUSE
    tally.challenged += step is GuardStep.CHALLENGE
    tally.cheap_only += step is GuardStep.CHEAP_ONLY


HEADER = "  policy            sends  verified   tokens  per verified    p50    p95"


def line(name: str, tallies: Sequence[Tally]) -> str:
    """Medians."""
    return (
        f"  {name:16}{_middle(t.sends for t in tallies):7.0f}"
        f"{_middle(rate(t) * 100 for t in tallies):9.2f}%"
        f"{_middle(t.tokens for t in tallies):9.0f}"
        f"{_middle(price(t) for t in tallies):14.2f}"
        f"{_middle(t.quantile(0.5) or 0 for t in tallies):7.1f}"
        f"{_middle(t.quantile(0.95) or 0 for t in tallies):7.1f}"
    )


def table(results: Sequence[Result]) -> Iterator[str]:
    """Medians over the seeds."""
    yield f"{results[0].world}, {len(results)} seeds"
    yield HEADER
    yield from (line(name, [row.policies[name] for row in results]) for name in POLICIES)
    days = ", ".join(f"{n:.2f}" for n in regret(results))
    yield f"  regret by day, tokens per verified above oracle: {days}"
    for n in range(len(results[0].attacks)):
        of_seeds = [row.attacks[n] for row in results]
        stopped = [a.sends_until_stopped for a in of_seeds if a.sends_until_stopped is not None]
        seconds = [a.seconds_until_stopped for a in of_seeds if a.seconds_until_stopped is not None]
        yield (
            f"  attack {n}: tokens lost at most {max(a.tokens_lost for a in of_seeds)}"
            f" of {max(a.sends for a in of_seeds)} sends; stopped after "
            + (f"{max(stopped)} sends, {max(seconds):.0f} s" if stopped else "no send")
            + ("" if len(stopped) == len(of_seeds) else f"; NOT in {len(of_seeds) - len(stopped)}")
        )
    honest = [row.honest for row in results]
    yield (
        f"  honest: {sum(h.sends for h in honest)} sends, {sum(h.refused for h in honest)} refused,"
        f" {sum(h.challenged for h in honest)} challenged,"
        f" {sum(h.cheap_only for h in honest)} held to cheap channels"
    )


def as_json(results: Sequence[Result]) -> dict[str, Any]:
    worlds = [
        {
            "name": row.world,
            "seed": row.seed,
            "policies": {name: as_figures(tally) for name, tally in row.policies.items()},
            "attacks": [asdict(attack) for attack in row.attacks],
            "honest": asdict(row.honest),
        }
        for row in results
    ]
    return {"worlds": worlds}


def as_figures(tally: Tally) -> dict[str, Any]:
    return {
        "sends": tally.sends,
        "verified": tally.verified,
        "tokens": tally.tokens,
        "p50": tally.quantile(0.5),
        "p95": tally.quantile(0.95),
    }


def regret(results: Sequence[Result]) -> Iterator[float]:
    """Tokens per verified person above the oracle's, by day; the median over the seeds."""
    for day in sorted(results[0].policies["oracle"].tokens_by_day):
        yield _middle(
            _day_price(row.policies["ours"], day) - _day_price(row.policies["oracle"], day)
            for row in results
        )


def _day_price(tally: Tally, day: int) -> float:
    tokens, verified = tally.tokens_by_day.get(day, [0, 0])
    return tokens / verified if verified else 0.0


def rate(tally: Tally) -> float:
    return tally.verified / tally.sends if tally.sends else 0.0


def price(tally: Tally) -> float:
    return tally.tokens / tally.verified if tally.verified else 0.0


def _middle(values: Any) -> float:
    return float(median(values))
