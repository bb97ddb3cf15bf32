"""Plays the sends of a world through the service by each policy, and compares with virtual time.

Django's models are imported where it has been set up.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tools.replay.live import virtual
from tools.replay.live.comparison import Comparison, LiveResult, compared
from tools.replay.live.people import People, Phase, Visit
from tools.replay.live.service import WEB_PROCESSES, api, prepared_stack, script, simulator_log
from tools.replay.live.virtual import Sample, draw, outcomes, renumbered
from tools.replay.policies import SmartPolicy
from tools.replay.run import BASELINE_PATIENCE
from tools.replay.timeline import Outcome, Send
from tools.replay.world import SMS, World
from tools.stack.stack import SEEDED, Setup, Stack, until

POLICIES = ("sms", "baseline", "ours")
A_SECOND = 12.0  # sends of one policy; two cores carry two policies at once
FIRST_NUMBER = 2_000_000  # of the first policy's phones, in each operator's range
APART = 1_000_000  # numbers between the phones of two policies
USUAL = {"", "recipient_unreachable"}  # of sends: every channel may say so of a wrong number
SETTLES = 240.0  # seconds after the last send; fallbacks take a minute
Say = Callable[[str], None]


@dataclass(slots=True)
class Run:
    world: World
    sample: Sample
    sends: dict[str, list[Send]]  # by policy, each with numbers of its own
    policy: SmartPolicy  # with what the warm-up taught


def run_live(world: World, seed: int, many: int, say: Say) -> LiveResult:
    began = time.monotonic()
    sample = draw(world, seed, many, a_second=A_SECOND)
    with prepared_stack() as stack:
        run = Run(
            world,
            sample,
            {
                name: renumbered(sample.sends, FIRST_NUMBER + n * APART)
                for n, name in enumerate(POLICIES)
            },
            virtual.warmed(world, sample, time.time() - virtual.FLUSH),
        )
        say(f"{len(sample.warm_up)} sends of the warm-up are played; the service starts …")
        result = _played(run, seed, stack, say)
        result.complaints = stack.complaints()
    result.seconds = time.monotonic() - began
    return result


def _played(run: Run, seed: int, stack: Stack, say: Say) -> LiveResult:
    from tools.replay.live import service  # noqa: PLC0415 - needs Django

    accounts = dict(zip(POLICIES, service.companies(_rules(run.world)), strict=True))
    _start(run, stack)
    say(f"{len(run.sample.sends)} sends by each policy, {A_SECOND:.0f} a second of each …")
    visits = {
        name: [Visit(send, accounts[name].key) for send in sends]
        for name, sends in run.sends.items()
    }
    people = _people(stack, visits)
    # The router learns from every company's codes, so ours is played when the others are done.
    others = Phase([*visits["sms"], *visits["baseline"]], lambda: None)
    alone = Phase(visits["ours"], service.start_learning)
    asyncio.run(people.play([others, alone], _patient(service.is_settled)))
    held_out = service.held_out(accounts["ours"])
    lived = {
        name: _lived(visits[name], service.outcomes(account)) for name, account in accounts.items()
    }
    return LiveResult(
        run.world.name,
        seed,
        _comparisons(run, lived, _virtual(run, alone.began, held_out)),
        held_out=len(held_out),
        learned=service.learned_versions(),
        answered=_slow_answer([one for several in visits.values() for one in several]),
        unexpected=people.unexpected + _refusals(visits),
    )


def _start(run: Run, stack: Stack) -> None:
    """With what the warm-up taught, and with everybody's luck told to the vendors."""
    from tools.replay.live import service  # noqa: PLC0415 - needs Django

    known = virtual.memories(run.policy, run.sample, run.sends["ours"])
    service.teach(run.policy.router, known, time.time())
    stack.arrange(Setup(SEEDED, delivery=True))
    until(service.is_alive, seconds=60, what="a sign of life of worker and beat", every=0.5)
    for sends in run.sends.values():
        script(stack, outcomes(run.sample.world, sends))


def _rules(world: World) -> list[Any]:
    """The company's policy of each of `POLICIES`."""
    from channels.routing.policy_rules import StoredRule  # noqa: PLC0415 - needs Django

    patience = dict.fromkeys(world.channels, BASELINE_PATIENCE)
    return [
        StoredRule(channels=[SMS]),
        StoredRule(channels=list(world.baseline), patience=patience),
        StoredRule(channels=virtual.own_order(world), patience=patience, smart=True),
    ]


def _people(stack: Stack, visits: Mapping[str, Sequence[Visit]]) -> People:
    everybody = [one for several in visits.values() for one in several]
    by_phone = {one.send.person.phone: one for one in everybody}
    return People(api(stack), simulator_log(stack), by_phone)


def _patient(is_settled: Callable[[], bool]) -> Callable[[], bool]:
    """Stops waiting in the end: what is not over by then has not happened."""
    since: list[float] = []

    def is_over() -> bool:
        since.append(time.monotonic())
        return is_settled() or since[-1] - since[0] > SETTLES

    return is_over


def _virtual(run: Run, began: float, held_out: set[str]) -> dict[str, list[Outcome]]:
    from channels.routing.learned.learned_router import TOKENS_A_DAY  # noqa: PLC0415 - needs Django

    return {
        "sms": virtual.fixed(run.sample, "sms"),
        "baseline": virtual.fixed(run.sample, "baseline"),
        "ours": virtual.ours(
            run.policy,
            run.sample,
            run.sends["ours"],
            began=began,
            held_out=held_out,
            explored=WEB_PROCESSES * TOKENS_A_DAY,
        ),
    }


def _comparisons(
    run: Run,
    live: Mapping[str, Sequence[Outcome]],
    theirs: Mapping[str, Sequence[Outcome]],
) -> list[Comparison]:
    return [compared(name, run.sends[name], live[name], theirs[name]) for name in POLICIES]


def _lived(visits: Sequence[Visit], found: Mapping[str, Outcome]) -> list[Outcome]:
    """What the service has written, with when the person entered the code."""
    return [
        replace(found.get(one.send.person.phone, Outcome()), verified=one.verified)
        for one in visits
    ]


def _slow_answer(visits: Sequence[Visit]) -> float:
    times = sorted(one.answered - one.started for one in visits)
    return times[int(0.95 * (len(times) - 1))]


def _refusals(visits: Mapping[str, Sequence[Visit]]) -> Counter[str]:
    found = Counter(one.refusal for several in visits.values() for one in several)
    return Counter({code: many for code, many in found.items() if code not in USUAL})
