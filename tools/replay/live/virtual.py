"""The same sends in virtual time, from the same knowledge on."""

import math
from collections.abc import Container, Sequence
from copy import deepcopy
from functools import partial

from channels.routing.smart.exploration import Exploration
from channels.routing.smart.phone_memory import PhoneMemory
from channels.routing.smart.plans import Step
from tools.replay.live.sample import Sample, later, moved
from tools.replay.population import Send
from tools.replay.run import BASELINE_PATIENCE, fixed_plans, prices_of
from tools.replay.smart_policy import CLOSED_AFTER, SmartPolicy
from tools.replay.timeline import Outcome, play
from tools.replay.world import World

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
