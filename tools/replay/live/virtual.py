"""The sends that both sides play, the first after the warm-up, and their course in virtual time.

Between two sends of a person there are hours in the world, and seconds here, in which the service
would refuse the second. So each send has a number of its own, with the memory that the person's
number had at the end of the warm-up.
"""

import math
from collections.abc import Container, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

from channels.routing.smart.exploration import Exploration
from channels.routing.smart.phone_memory import PhoneMemory
from channels.routing.smart.plans import Step
from tools.replay.policies import CLOSED_AFTER, SmartPolicy
from tools.replay.run import BASELINE_PATIENCE, fixed_plans, prices_of
from tools.replay.timeline import Outcome, Played, Send, account_of, ask, play, sends
from tools.replay.world import NATIONAL_DIGITS, SMS, World

CARRIED = {"whatsapp", "telegram", SMS}  # what the service has a simulated vendor for
LONGEST_MS = 3_600_000


class NotPlayableError(Exception):
    """The world cannot be played through the service; the text says why."""


@dataclass(frozen=True, slots=True)
class Sample:
    world: World  # with its changes at the moments at which they now come
    warm_up: list[Send]
    sends: list[Send]  # `at`: seconds from the first moment


def draw(world: World, seed: int, many: int, *, a_second: float) -> Sample:
    """Arrivals are squeezed evenly to so many a second; what follows within a send is not."""
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
    taken = [send, *islice(drawn, many - 1)]
    if len(taken) < many:
        raise NotPlayableError(f"{world.name}: only {len(taken)} sends after the warm-up")
    times = taken[-1].at * a_second / many or 1.0
    return Sample(
        _faster(world, times), warm_up, [replace(send, at=send.at / times) for send in taken]
    )


def _faster(world: World, times: float) -> World:
    changes = [replace(one, start=one.start / times, end=one.end / times) for one in world.changes]
    return replace(world, changes=tuple(changes))


def moved(world: World, by: float) -> World:
    """Its changes come so many seconds later."""
    changes = [replace(one, start=one.start + by, end=one.end + by) for one in world.changes]
    return replace(world, changes=tuple(changes))


def later(given: Sequence[Send], by: float) -> Iterator[Send]:
    return (replace(send, at=send.at + by) for send in given)


def renumbered(given: Sequence[Send], first: int) -> list[Send]:
    """In the same operators' ranges, so that only the last digits change."""
    return [
        replace(send, person=replace(send.person, phone=_phone(send.person.phone, first + n)))
        for n, send in enumerate(given)
    ]


def _phone(phone: str, number: int) -> str:
    return f"{phone[:-NATIONAL_DIGITS]}{number:0{NATIONAL_DIGITS}}"


def outcomes(world: World, given: Sequence[Send]) -> dict[str, dict[str, dict[str, Any]]]:
    """By phone and channel, as the simulator reads them."""
    return {
        send.person.phone: {
            channel: outcome_of(ask(world, send, channel, account_of(world, send, channel), 0.0))
            for channel in world.channels
        }
        for send in given
    }


def outcome_of(played: Played) -> dict[str, Any]:
    if played.refused < math.inf:
        kind = "barred" if played.barred else "unreachable"
        return {"outcome": kind, "after_ms": round(played.refused * 1000)}
    if played.arrives == math.inf:
        return {"outcome": "lost"}
    kind = "delivered" if played.receipt < math.inf else "unproved"
    return {"outcome": kind, "after_ms": min(LONGEST_MS, round(played.arrives * 1000))}


FLUSH = 300.0  # seconds after which nothing more comes of a send
# Seconds: between two runs of `otp.route_learning.learning`, until what happened is surely
# committed, and until a web process has the new state, in the mean.
LEARNING_INTERVAL, COMMITTED, COPIED = 30.0, 3.0, 5.0


def warmed(world: World, sample: Sample, ends_at: float) -> SmartPolicy:
    """What is known after the warm-up, if that ends at this moment."""
    policy = SmartPolicy(moved(world, ends_at), prices_of(world))
    for send in later(sample.warm_up, ends_at):
        policy.send(send)
    policy.run_until(ends_at + FLUSH)
    return policy


def memories(policy: SmartPolicy, sample: Sample, alias: Sequence[Send]) -> dict[str, PhoneMemory]:
    """Under the numbers that are played, of the people who were there in the warm-up."""
    return {
        played.person.phone: deepcopy(policy.memories[send.person.phone])
        for send, played in zip(sample.sends, alias, strict=True)
        if send.person.phone in policy.memories
    }


def learned_at(began: float, sent_at: float) -> float:
    """As in the service, whose beat need not begin with the run: within half a minute of this."""
    ticks = math.ceil((sent_at - began + CLOSED_AFTER + COMMITTED) / LEARNING_INTERVAL)
    return began + ticks * LEARNING_INTERVAL + COPIED


def own_order(world: World) -> list[str]:
    """Of the company that routes by what was learned: every channel, the baseline's first."""
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
    """`held_out`: the numbers that went by the company's own order, as the service drew them."""
    policy.world, policy.is_guarded = moved(sample.world, began), False
    policy.memories |= memories(policy, sample, alias)
    policy.router.exploration = Exploration(explored)
    policy.learned_at = partial(learned_at, began)
    own = tuple(Step(name, BASELINE_PATIENCE) for name in own_order(sample.world))
    found = []
    for send in later(alias, began):
        outcome, _ = policy.send(send, own if send.person.phone in held_out else None)
        found.append(outcome or Outcome())
    return found
