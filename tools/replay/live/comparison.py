"""The course of a live run's sends in virtual time, and the differences between both sides.

A person's sends are seconds apart here and would be refused: each has its own number.
"""

import math
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

from channels.routing.smart.plans import PlanStep
from channels.routing.smart.reach import PhoneMemory
from channels.routing.smart.router import Exploration
from config.local.processes import StartError
from tools.replay.policies import CLOSED_AFTER, SmartPolicy
from tools.replay.run import (
    BASELINE_PATIENCE,
    HEADER,
    Tally,
    as_figures,
    fixed_plans,
    line,
    prices_of,
    rate,
)
from tools.replay.timeline import Outcome, Played, Send, account_of, ask, play, sends
from tools.replay.world import NATIONAL_DIGITS, SMS, World

CARRIED = {"whatsapp", "telegram", SMS}  # what the service has a simulated vendor for
MAX_MS = 3_600_000


class NotPlayableError(StartError):
    """Why the world cannot be played through the service."""


@dataclass(frozen=True, slots=True)
class Sample:
    world: World  # with its changes at the moments at which they now come
    warm_up: list[Send]
    sends: list[Send]  # `at`: seconds from the first moment


def draw(world: World, seed: int, count: int, *, a_second: float) -> Sample:
    """Arrivals are squeezed evenly to this rate; the steps within a send are not."""
    if unknown := set(world.channels) - CARRIED:
        raise NotPlayableError(f"{world.name}: no vendor is simulated for {', '.join(unknown)}")
    if world.accounts:
        raise NotPlayableError(f"{world.name}: its accounts cannot fare differently here")
    drawn = sends(world, seed)
    warm_up = []
    for send in drawn:
        if send.at >= 0:
            break
        warm_up.append(send)
    else:
        raise NotPlayableError(f"{world.name}: no send after the warm-up")
    sample = [send, *islice(drawn, count - 1)]
    if len(sample) < count:
        raise NotPlayableError(f"{world.name}: only {len(sample)} sends after the warm-up")
    times = sample[-1].at * a_second / count or 1.0
    return Sample(
        _faster(world, times), warm_up, [replace(send, at=send.at / times) for send in sample]
    )


def _faster(world: World, times: float) -> World:
    changes = [replace(row, start=row.start / times, end=row.end / times) for row in world.changes]
    return replace(world, changes=tuple(changes))


def moved(world: World, by: float) -> World:
    """The world with its changes `by` seconds later."""
    changes = [replace(row, start=row.start + by, end=row.end + by) for row in world.changes]
    return replace(world, changes=tuple(changes))


def later(sends: Sequence[Send], by: float) -> Iterator[Send]:
    return (replace(send, at=send.at + by) for send in sends)


def renumbered(sends: Sequence[Send], first: int) -> list[Send]:
    """The phones renumbered in the same carriers' ranges, so that only the last digits change."""
    return [
        replace(send, person=replace(send.person, phone=_phone(send.person.phone, first + n)))
        for n, send in enumerate(sends)
    ]


def _phone(phone: str, number: int) -> str:
    return f"{phone[:-NATIONAL_DIGITS]}{number:0{NATIONAL_DIGITS}}"


def outcomes(world: World, sends: Sequence[Send]) -> dict[str, dict[str, dict[str, Any]]]:
    """The outcomes by phone and channel, in the form that the simulator reads."""
    return {
        send.person.phone: {
            channel: outcome_of(ask(world, send, channel, account_of(world, send, channel), 0.0))
            for channel in world.channels
        }
        for send in sends
    }


def outcome_of(played: Played) -> dict[str, Any]:
    if played.refused < math.inf:
        kind = "barred" if played.barred else "unreachable"
        return {"outcome": kind, "after_ms": round(played.refused * 1000)}
    if played.arrives == math.inf:
        return {"outcome": "lost"}
    kind = "delivered" if played.receipt < math.inf else "unproved"
    return {"outcome": kind, "after_ms": min(MAX_MS, round(played.arrives * 1000))}


FLUSH = 300.0  # seconds after which nothing more comes of a send
LEARNING_INTERVAL = 30.0  # seconds between two runs of `otp.statistics.route_learning`
COMMITTED = 3.0  # seconds until what happened is surely committed
COPIED = 5.0  # seconds, in the mean, until a web process has the new state


def warmed(world: World, sample: Sample, ends_at: float) -> SmartPolicy:
    """The policy learned from the warm-up, if that ends at this moment."""
    policy = SmartPolicy(moved(world, ends_at), prices_of(world))
    for send in later(sample.warm_up, ends_at):
        policy.send(send)
    policy.run_until(ends_at + FLUSH)
    return policy


def memories(policy: SmartPolicy, sample: Sample, alias: Sequence[Send]) -> dict[str, PhoneMemory]:
    """The memories of people in the warm-up, by the numbers under which they are played."""
    return {
        played.person.phone: deepcopy(policy.memories[send.person.phone])
        for send, played in zip(sample.sends, alias, strict=True)
        if send.person.phone in policy.memories
    }


def learned_at(began: float, sent_at: float) -> float:
    """The time at which the service has learned from a send, to within half a minute: the beat of
    the service need not start with the run.
    """
    ticks = math.ceil((sent_at - began + CLOSED_AFTER + COMMITTED) / LEARNING_INTERVAL)
    return began + ticks * LEARNING_INTERVAL + COPIED


def own_order(world: World) -> list[str]:
    """The channel order of the company with smart routing: every channel, the baseline's first."""
    return [*world.baseline, *(name for name in world.channels if name not in world.baseline)]


def fixed(sample: Sample, name: str) -> list[Outcome]:
    plan, prices = fixed_plans(sample.world)[name], prices_of(sample.world)
    return [play(sample.world, send, plan, prices) for send in sample.sends]


def ours(
    policy: SmartPolicy,
    sample: Sample,
    alias: Sequence[Send],
    *,
    began: float,
    held_out: Container[str],
    explored: int,
) -> list[Outcome]:
    """`held_out`: the numbers that followed the company's own order, as the service drew them."""
    policy.world, policy.is_guarded = moved(sample.world, began), False
    policy.memories |= memories(policy, sample, alias)
    policy.router.exploration = Exploration(explored)
    policy.learned_at = partial(learned_at, began)
    steps = tuple(PlanStep(name, BASELINE_PATIENCE) for name in own_order(sample.world))
    results = []
    for send in later(alias, began):
        outcome, _ = policy.send(send, steps if send.person.phone in held_out else None)
        results.append(outcome or Outcome())
    return results


RATE_ALLOWED = 0.02  # of all sends
TOKENS_ALLOWED = 0.05  # of the virtual replay's
DIGITS = 5


@dataclass(slots=True)
class Comparison:
    policy: str
    live: Tally
    virtual: Tally

    @property
    def rate_difference(self) -> float:
        return round(rate(self.live) - rate(self.virtual), DIGITS)

    @property
    def tokens_difference(self) -> float:
        if not self.virtual.tokens:
            return math.inf if self.live.tokens else 0.0
        return round(self.live.tokens / self.virtual.tokens - 1, DIGITS)

    @property
    def agrees(self) -> bool:
        return (
            abs(self.rate_difference) <= RATE_ALLOWED
            and abs(self.tokens_difference) <= TOKENS_ALLOWED
        )

    def lines(self) -> Iterator[str]:
        yield line(f"{self.policy} live", [self.live])
        yield line(f"{self.policy} virtual", [self.virtual])
        yield (
            f"  {'difference':23}{self.rate_difference * 100:+9.2f} "
            f"{self.tokens_difference * 100:+8.1f}%   {'agrees' if self.agrees else 'DISAGREES'}"
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "live": as_figures(self.live),
            "virtual": as_figures(self.virtual),
            "verified_difference": self.rate_difference,
            "tokens_difference": self.tokens_difference,
            "agrees": self.agrees,
        }


def compared(
    policy: str, sends: Sequence[Send], live: Sequence[Outcome], virtual: Sequence[Outcome]
) -> Comparison:
    """Compares the honest sends; attackers' are played and not counted."""
    compared = Comparison(policy, Tally(), Tally())
    for send, ours, theirs in zip(sends, live, virtual, strict=True):
        if send.attack is None:
            compared.live.add(send.at, ours)
            compared.virtual.add(send.at, theirs)
    return compared


@dataclass(slots=True)
class LiveResult:
    world: str
    seed: int
    comparisons: list[Comparison]
    unexpected: Counter[str]  # answers to sends and to correct codes, by their code
    seconds: float = 0.0

    @property
    def agrees(self) -> bool:
        return all(row.agrees for row in self.comparisons)

    def lines(self) -> Iterator[str]:
        yield f"{self.world}, seed {self.seed}, live in {self.seconds:.0f} s"
        yield HEADER
        for row in self.comparisons:
            yield from row.lines()
        for code, count in sorted(self.unexpected.items()):
            yield f"  {count} times the API answered {code}"
        yield f"  live and virtual {'agree' if self.agrees else 'DISAGREE'}"

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.world,
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "policies": {row.policy: row.as_json() for row in self.comparisons},
            "unexpected": dict(self.unexpected),
            "agrees": self.agrees,
        }
