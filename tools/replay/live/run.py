"""Plays the sends of a world through the service by each policy, and compares with virtual time.

Django's models are imported where it has been set up.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import requests
from django.core.management import call_command

from tools.replay.live import comparison
from tools.replay.live.comparison import LiveResult, Sample, compared, draw, outcomes, renumbered
from tools.replay.live.people import People, Phase, Visit
from tools.replay.policies import SmartPolicy
from tools.replay.run import BASELINE_PATIENCE
from tools.replay.timeline import Outcome, Send
from tools.replay.world import SMS, World
from tools.stack.stack import SEEDED, Setup, Stack, temporary_stack, until, url_of

POLICIES = ("sms", "baseline", "ours")
A_SECOND = 12.0  # sends of one policy; two cores carry two policies at once
FIRST_NUMBER = 2_000_000  # of the first policy's phones, in each carrier's range
APART = 1_000_000  # numbers between the phones of two policies
USUAL = {"", "recipient_unreachable"}  # of sends: every channel may say so of a wrong number
# SMSC has words for a subscriber's bar. A bot would be a second Telegram.
VENDORS = {"SIMULATED_SMS": "smsc"}
WITHOUT = {"TELEGRAM_BOT_TOKEN": ""}
BATCH_SIZE = 500  # phones, which the simulator takes in one call
WEB_PROCESSES = 2  # `tools.stack.stack.web`
SETTLES = 240.0  # seconds after the last send; fallbacks take a minute
Say = Callable[[str], None]


@dataclass(slots=True)
class Run:
    world: World
    sample: Sample
    sends: dict[str, list[Send]]  # by policy, each with its own numbers
    policy: SmartPolicy  # with what the warm-up taught


@contextmanager
def _prepared_stack() -> Iterator[Stack]:
    """The stack with Django set up for its empty database; nothing else is running yet."""
    with temporary_stack("replay", options=VENDORS) as stack:
        stack.environ |= WITHOUT
        stack.set_up_django()
        call_command("migrate", verbosity=0)
        yield stack


def run_live(world: World, seed: int, count: int, say: Say) -> LiveResult:
    began = time.monotonic()
    sample = draw(world, seed, count, a_second=A_SECOND)
    with _prepared_stack() as stack:
        run = Run(
            world,
            sample,
            {
                name: renumbered(sample.sends, FIRST_NUMBER + n * APART)
                for n, name in enumerate(POLICIES)
            },
            comparison.warmed(world, sample, time.time() - comparison.FLUSH),
        )
        say(f"{len(sample.warm_up)} sends of the warm-up are played; the service starts …")
        result = _played(run, seed, stack, say)
        for line in stack.complaints():
            say(line)
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
    by_phone = {row.send.person.phone: row for several in visits.values() for row in several}
    people = People(url_of(stack.web), stack.place / "simulator.sqlite3", by_phone)
    # The router learns from every company's codes, so ours is played when the others are done.
    baselines = Phase([*visits["sms"], *visits["baseline"]], lambda: None)
    alone = Phase(visits["ours"], service.start_learning)
    people.play([baselines, alone], _patient(service.is_settled))
    held_out = service.held_out(accounts["ours"])
    lived = {
        name: _lived(visits[name], service.outcomes(account)) for name, account in accounts.items()
    }
    return LiveResult(
        run.world.name,
        seed,
        [
            compared(name, run.sends[name], lived[name], outcomes)
            for name, outcomes in _virtual(run, alone.began, held_out).items()
        ],
        unexpected=people.unexpected
        + Counter(row.refusal for row in by_phone.values() if row.refusal not in USUAL),
    )


def _start(run: Run, stack: Stack) -> None:
    """Starts with the result of the warm-up, and with everybody's luck given to the vendors."""
    from tools.replay.live import service  # noqa: PLC0415 - needs Django

    memories = comparison.memories(run.policy, run.sample, run.sends["ours"])
    service.teach(run.policy.router, memories, time.time())
    stack.arrange(Setup(SEEDED, delivery=True))
    until(service.is_alive, seconds=60, event="a sign of life of worker and beat", every=0.5)
    for sends in run.sends.values():  # what becomes of each number's messages
        remaining = iter(outcomes(run.sample.world, sends).items())
        while some := dict(islice(remaining, BATCH_SIZE)):
            address = f"http://127.0.0.1:{stack.simulator}/outcomes"
            requests.post(address, json=some, timeout=30).raise_for_status()


def _rules(world: World) -> list[Any]:
    """The company's policy of each of `POLICIES`."""
    from channels.routing.stored_rules import StoredRule  # noqa: PLC0415 - needs Django

    patience = dict.fromkeys(world.channels, BASELINE_PATIENCE)
    return [
        StoredRule(channels=[SMS]),
        StoredRule(channels=list(world.baseline), patience=patience),
        StoredRule(channels=comparison.own_order(world), patience=patience, smart=True),
    ]


def _patient(is_settled: Callable[[], bool]) -> Callable[[], bool]:
    """Stops waiting in the end: anything unfinished counts as not happened."""
    since: list[float] = []

    def has_ended() -> bool:
        since.append(time.monotonic())
        return is_settled() or since[-1] - since[0] > SETTLES

    return has_ended


def _virtual(run: Run, began: float, held_out: set[str]) -> dict[str, list[Outcome]]:
    from channels.routing.learned.learned_router import TOKENS_A_DAY  # noqa: PLC0415 - needs Django

    return {
        "sms": comparison.fixed(run.sample, "sms"),
        "baseline": comparison.fixed(run.sample, "baseline"),
        "ours": comparison.ours(
            run.policy,
            run.sample,
            run.sends["ours"],
            began=began,
            held_out=held_out,
            explored=WEB_PROCESSES * TOKENS_A_DAY,
        ),
    }


def _lived(visits: Sequence[Visit], outcomes: Mapping[str, Outcome]) -> list[Outcome]:
    """The outcomes that the service has written, with the time of the entered code."""
    return [
        replace(outcomes.get(visit.send.person.phone, Outcome()), verified=visit.verified)
        for visit in visits
    ]
