"""One drill: start everything, send, lose a part, regain it, settle, stop, and count."""

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import uuid4

from config.environment.variables import ROOT
from config.local.embedded import Servers, temporary
from tests.redis_servers import sentinel_group
from tools.chaos.plan import SHORT, PlannedRequest
from tools.chaos.run import kept, prepare
from tools.chaos.traffic.client import Account
from tools.drills import figures
from tools.drills.figures import Figures
from tools.drills.load import FIRST_PHONE, Load, broken_checks, journal_of
from tools.drills.scenarios import SCENARIOS, Scenario
from tools.drills.stack import Stack

Say = Callable[[str], None]
THREADS = 96
WARM_UP, AFTERWARDS = 5.0, 15.0  # seconds of load before the loss, and after the part is back
TOKENS = 1_000_000


@dataclass
class Moments:
    """Unix seconds."""

    lost_at: float = 0.0
    ends_at: float = 0.0


def run(name: str, rate: float, say: Say, *, keeps: bool = False) -> list[str]:
    """The promises broken; what is printed on the way are the figures."""
    scenario = SCENARIOS[name]
    place = ROOT / "var/drills" / f"{name}-{os.getpid()}"
    with temporary(durable=True, environ={}) as servers, kept(place, servers, say) as keep:
        found = _run(scenario, servers, place, rate)
        breaches = found.breaches(scenario)
        if not (breaches or keeps):
            keep.clear()
    for line in [f"{name}: {scenario.what}, {rate:.0f} sends a second", *found.lines(scenario)]:
        say(line)
    for breach in breaches:
        say(f"BROKEN: {breach}")
    return breaches


def _run(scenario: Scenario, servers: Servers, place: Path, rate: float) -> Figures:
    with ExitStack() as held:
        sentinels = None
        if scenario.has_sentinels:
            sentinels = held.enter_context(sentinel_group(place / "sentinels"))
        stack = Stack(servers, place, sentinels=sentinels, has_smpp=scenario.has_smpp)
        os.environ.update(stack.environ)
        (account,) = prepare([TOKENS], SHORT)
        stack.start()
        try:
            moments = _load(scenario, stack, account, rate)
            stack.stop()
        finally:
            stack.kill()
        return _count(stack, moments)


def _load(scenario: Scenario, stack: Stack, account: Account, rate: float) -> Moments:
    afterwards = max(AFTERWARDS, scenario.max_silence, scenario.max_delivery)
    seconds = WARM_UP + scenario.away + afterwards
    moments = Moments()

    def lose() -> None:
        moments.lost_at = time.time()
        scenario.lose(stack)

    with Load(stack, [account], THREADS) as load:
        begin = time.monotonic()
        load.backend.schedule(_orders(scenario, rate, seconds), begin)
        stack.at(begin + WARM_UP, lose)
        stack.at(begin + WARM_UP + scenario.away, partial(scenario.regain, stack))
        stack.run(lambda: time.monotonic() > begin + seconds, seconds + 1)
        moments.ends_at = time.time()
        load.settle()
    return moments


def _orders(scenario: Scenario, rate: float, seconds: float) -> list[PlannedRequest]:
    """Codes at a steady rate, each to a phone of its own, by every channel in turn."""
    return [
        PlannedRequest(
            n=n,
            at=n / rate,
            company=0,
            kind="code",
            channel=scenario.channels[n % len(scenario.channels)],
            phone=f"+{FIRST_PHONE + n}",
            key=str(uuid4()),
        )
        for n in range(int(rate * seconds))
    ]


def _count(stack: Stack, moments: Moments) -> Figures:
    broken = broken_checks(stack)
    times = figures.times(journal_of(stack), stack.simulator_log, moments.lost_at, moments.ends_at)
    return Figures(
        **figures.counts(),
        silence=times["silence"],
        first_delivery=times["first_delivery"],
        deaths=stack.deaths,
        broken_checks=broken,
    )
