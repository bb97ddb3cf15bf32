"""`python -m tools.drills redis|web|worker|… [--rate 15] [--keep]`; `--help` lists the parts.

One part of the service fails under load, and the figures show the effects. Load, journal and checks
are those of `tools.chaos`; the single fault is known.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

import redis

from config.environment.variables import ROOT
from config.local.embedded import Servers
from tests.redis_servers import sentinel_group
from tests.stack.programs import Program
from tools.chaos.checks import broken_checks, rows, select
from tools.chaos.fault_injector import FaultInjector
from tools.chaos.load import Traffic, prepare
from tools.chaos.plan import SHORT, PlannedRequest, steady
from tools.chaos.stack import Stack, kept
from tools.command_line import ExitCode, columns, parser, run_command, say
from tools.queries import queries

EVERY_CHANNEL = ("whatsapp", "telegram", "sms")
RESTART_AFTER = 1.0  # seconds, like RestartSec= of our units
START = 45.0  # seconds until a killed process must serve again, on a busy machine
RECONNECTED = 10.0  # seconds after a database is back, on a busy machine
UNNOTICED = 5.0  # seconds without service that the loss of another part may cause
NOBODY = ("127.0.0.1", "1")


@dataclass(frozen=True)
class Scenario:
    what: str
    lose: Callable[[Stack, FaultInjector], object]
    regain: Callable[[Stack], object] = lambda _stack: None
    away: float = 10.0  # seconds
    max_silence: float = UNNOTICED  # seconds without an answer to a send
    max_delivery: float = UNNOTICED  # seconds until a message sent after the loss is on its phone
    channels: tuple[str, ...] = EVERY_CHANNEL
    has_sentinels: bool = False
    has_smpp: bool = False


def _process(name: str, process: str, **fields: Any) -> Scenario:
    """The scenario of a process that is killed, and restarted as soon as our units would."""
    program: Callable[[Stack], Program] = attrgetter(name)
    return Scenario(
        f"{process} killed, back at once",
        lambda stack, injector: injector.kill_now(program(stack), RESTART_AFTER),
        away=RESTART_AFTER,
        **{"max_delivery": START, **fields},
    )


def _kill_master(stack: Stack, _injector: FaultInjector) -> None:
    assert stack.sentinels is not None  # noqa: S101 - this scenario has them
    stack.sentinels.master.kill()


def _follow(stack: Stack, host: str, port: str) -> None:
    with redis.Redis.from_url(stack.redis.url) as client:
        client.replicaof(host, port)


SCENARIOS = {
    "redis": Scenario(
        "Redis killed, back empty after 10 s",
        lambda stack, _injector: stack.redis.forget(),
        lambda stack: stack.redis.start(),
    ),
    "redis-replica": Scenario(
        "Redis turned into a replica of nobody for 10 s",
        lambda stack, _injector: _follow(stack, *NOBODY),
        lambda stack: _follow(stack, "NO", "ONE"),
    ),
    "redis-failover": Scenario(
        "the master of a Sentinel group killed", _kill_master, away=0.0, has_sentinels=True
    ),
    "postgres": Scenario(
        "PostgreSQL killed, back after 10 s",
        lambda stack, _injector: stack.postgres.kill(),
        lambda stack: stack.postgres.start(),
        max_silence=10.0 + RECONNECTED,
        max_delivery=10.0 + RECONNECTED,
    ),
    "web": _process("web", "the only web server", max_silence=START),
    "worker": _process("worker", "the only worker"),
    "beat": _process("beat", "the beat", max_delivery=UNNOTICED),
    "smpp": _process("smpp", "the SMPP process", channels=("sms",), has_smpp=True),
}


_NEVER = float("inf")


@dataclass(frozen=True)
class Figures:
    accepted: int
    lost: int
    delivered: int
    expired: int  # reported as expired and uncharged: it is unknown whether a call was made
    charged_twice: int
    sent_twice: int
    repeated: int  # calls that a sender repeated with their key
    silence: float  # the longest time without an answer, in seconds
    first_delivery: float  # seconds from the loss
    deaths: Mapping[str, int]
    broken_checks: Sequence[str]

    def lines(self, scenario: Scenario) -> list[str]:
        silence, delivery = scenario.max_silence, scenario.max_delivery
        rows = [
            ("sends accepted", self.accepted, ""),
            ("  lost", self.lost, "0"),
            ("  delivered", self.delivered, ""),
            ("  expired, and told so", self.expired, ""),
            ("charged twice", self.charged_twice, "0"),
            ("on a phone twice", self.sent_twice, "0"),
            ("repeated by their sender", self.repeated, ""),
            ("seconds without answers", f"{self.silence:.1f}", f"≤ {silence:.0f}"),
            ("seconds until the first delivery", f"{self.first_delivery:.1f}", f"≤ {delivery:.0f}"),
            ("processes that ended by themselves", sum(self.deaths.values()), "0"),
            ("checks broken", len(self.broken_checks), "0"),
        ]
        return columns((name, str(value), promise) for name, value, promise in rows)

    def breaches(self, scenario: Scenario) -> list[str]:
        """The broken promises, one per line."""
        broken = {
            f"{self.lost} sends were lost": self.lost,
            f"{self.charged_twice} sends were charged twice": self.charged_twice,
            f"{self.sent_twice} sends were sent twice": self.sent_twice,
            f"no answer for {self.silence:.1f} s": self.silence > scenario.max_silence,
            f"no delivery for {self.first_delivery:.1f} s": (
                self.first_delivery > scenario.max_delivery
            ),
            "no send was accepted": not self.accepted,
        }
        return [
            *(why for why, is_broken in broken.items() if is_broken),
            *self.deaths,
            *self.broken_checks,
        ]


def counts() -> dict[str, int]:
    return {
        name: int(select(sql.text)[0][0]) for name, sql in queries(__file__, "drills.sql").items()
    }


def times(journal: Path, simulator_log: Path, lost_at: float, ends_at: float) -> dict[str, float]:
    """`silence` and `first_delivery`; the moments are Unix seconds."""
    answers = [at for (at,) in rows(journal, "SELECT at FROM calls WHERE status = 200")]
    placed = dict(rows(journal, "SELECT phone, at FROM orders"))
    arrivals = rows(simulator_log, "SELECT '+' || phone, at FROM messages")
    return {
        "silence": longest_gap(answers, lost_at, ends_at),
        "first_delivery": first_arrival(arrivals, placed, lost_at) - lost_at,
    }


def longest_gap(moments: Iterable[float], begin: float, end: float) -> float:
    within = sorted(moment for moment in moments if begin < moment < end)
    return max(
        after - before for before, after in zip([begin, *within], [*within, end], strict=True)
    )


def first_arrival(
    arrivals: Iterable[tuple[str, float]], placed: Mapping[str, float], since: float
) -> float:
    """The first arrival of a message requested since then; infinity if none arrived."""
    return min((at for phone, at in arrivals if placed.get(phone, 0.0) >= since), default=_NEVER)


WARM_UP = 5.0  # seconds of load before the loss
AFTERWARDS = 15.0  # seconds of load after the part is back
ANSWERED_WITHIN = 120.0  # seconds after the last send
TOKENS = 1_000_000


def main(arguments: Sequence[str]) -> int:
    options = parser("make drill", __doc__)
    options.add_argument("part", choices=[*SCENARIOS, "all"], help="the part to lose under load")
    options.add_argument("--rate", type=float, default=15.0, help="sends a second")
    options.add_argument("--keep", action="store_true", help="keep data and logs in any case")
    parsed = options.parse_args(arguments)
    if parsed.part == "all":
        return run_command(
            "drill", lambda: max(_in_a_process(name, arguments) for name in SCENARIOS)
        )
    return run_command("drill", lambda: _drill(parsed.part, parsed.rate, say, keeps=parsed.keep))


def _in_a_process(name: str, arguments: Sequence[str]) -> int:
    """Runs a drill in its own process, with its own settings and stores."""
    options = [name if word == "all" else word for word in arguments]
    process = subprocess.run([sys.executable, "-m", "tools.drills", *options], check=False)  # noqa: S603
    return process.returncode if process.returncode >= 0 else ExitCode.NOT_MADE  # it was killed


def _drill(name: str, rate: float, say: Callable[[str], None], *, keeps: bool) -> ExitCode:
    scenario = SCENARIOS[name]
    directory = ROOT / "var/drills" / f"{name}-{os.getpid()}"
    with kept(directory, say) as (servers, keep):
        result = _run(scenario, servers, directory, rate)
        breaches = result.breaches(scenario)
        if not (breaches or keeps):
            keep.clear()
    for line in [f"{name}: {scenario.what}, {rate:.0f} sends a second", *result.lines(scenario)]:
        say(line)
    for breach in breaches:
        say(f"BROKEN: {breach}")
    return ExitCode.FAILED if breaches else ExitCode.PASSED


def _run(scenario: Scenario, servers: Servers, directory: Path, rate: float) -> Figures:
    """Starts everything, sends, loses a part, regains it, settles, stops, and counts."""
    with ExitStack() as held:
        sentinels = None
        if scenario.has_sentinels:
            sentinels = held.enter_context(sentinel_group(directory / "sentinels"))
        stack = Stack(servers, directory, SHORT, sentinels=sentinels, has_smpp=scenario.has_smpp)
        accounts = prepare(stack, [TOKENS], SHORT)
        held.callback(stack.kill)
        stack.start()
        with Traffic(stack, accounts) as traffic:
            lost_at, ends_at = _load(scenario, stack, traffic, rate)
        stack.stop()
        broken = broken_checks(stack.simulator_log, stack.journal)
        moments = times(stack.journal, stack.simulator_log, lost_at, ends_at)
        deaths = traffic.injector.deaths
        return Figures(**counts(), **moments, deaths=deaths, broken_checks=broken)  # type: ignore[arg-type]


def _load(scenario: Scenario, stack: Stack, traffic: Traffic, rate: float) -> tuple[float, float]:
    """The Unix times at which the part was lost and the load ended."""
    injector, begin, lost_at = traffic.injector, time.monotonic(), 0.0
    afterwards = max(AFTERWARDS, scenario.max_silence, scenario.max_delivery)
    seconds = WARM_UP + scenario.away + afterwards

    def lose() -> None:
        nonlocal lost_at
        lost_at = time.time()
        if scenario.lose(stack, injector) is False:
            raise RuntimeError("the part to be lost was not running")

    traffic.backend.schedule([_order(n, scenario, rate) for n in range(int(rate * seconds))], begin)
    injector.at(begin + WARM_UP, lose)
    injector.at(begin + WARM_UP + scenario.away, lambda: scenario.regain(stack))
    injector.run(lambda: time.monotonic() > begin + seconds, seconds + 1)
    ends_at = time.time()
    traffic.settle(ANSWERED_WITHIN)
    return lost_at, ends_at


def _order(n: int, scenario: Scenario, rate: float) -> PlannedRequest:
    """A code by every channel in turn."""
    channel = scenario.channels[n % len(scenario.channels)]
    return steady(n, rate, company=0, kind="code", channel=channel)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
