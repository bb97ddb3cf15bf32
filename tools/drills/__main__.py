"""`python -m tools.drills redis|web|worker|… [--rate 15] [--keep]`; `--help` lists the parts."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

from config.environment.variables import ROOT
from config.local.embedded import Servers
from tests.redis_servers import sentinel_group
from tools.chaos.checks import broken_checks
from tools.chaos.load import Traffic, prepare
from tools.chaos.plan import SHORT, PlannedRequest
from tools.chaos.stack import Stack, kept
from tools.command_line import ExitCode, parser, run_command, say
from tools.drills import figures
from tools.drills.figures import Figures
from tools.drills.scenarios import SCENARIOS, Scenario

WARM_UP, AFTERWARDS = 5.0, 15.0  # seconds of load before the loss, and after the part is back
ANSWERED_WITHIN = 120.0  # seconds after the last send
TOKENS = 1_000_000
FIRST_PHONE = 79_260_000_000


def main(arguments: Sequence[str]) -> int:
    options = parser("make drill", __doc__)
    options.add_argument("part", choices=[*SCENARIOS, "all"], help="what is lost under load")
    options.add_argument("--rate", type=float, default=15.0, help="sends a second")
    options.add_argument("--keep", action="store_true", help="keep data and logs in any case")
    given = options.parse_args(arguments)
    if given.part == "all":
        return run_command(
            "drill", lambda: max(_in_a_process(name, arguments) for name in SCENARIOS)
        )
    return run_command("drill", lambda: _drill(given.part, given.rate, say, keeps=given.keep))


def _in_a_process(name: str, arguments: Sequence[str]) -> int:
    """Each with settings and stores of its own."""
    options = [name if word == "all" else word for word in arguments]
    done = subprocess.run([sys.executable, "-m", "tools.drills", *options], check=False)  # noqa: S603
    return done.returncode if done.returncode >= 0 else ExitCode.NOT_MADE  # it was killed


def _drill(name: str, rate: float, say: Callable[[str], None], *, keeps: bool) -> ExitCode:
    scenario = SCENARIOS[name]
    place = ROOT / "var/drills" / f"{name}-{os.getpid()}"
    with kept(place, say) as (servers, keep):
        found = _run(scenario, servers, place, rate)
        breaches = found.breaches(scenario)
        if not (breaches or keeps):
            keep.clear()
    for line in [f"{name}: {scenario.what}, {rate:.0f} sends a second", *found.lines(scenario)]:
        say(line)
    for breach in breaches:
        say(f"BROKEN: {breach}")
    return ExitCode.FAILED if breaches else ExitCode.PASSED


def _run(scenario: Scenario, servers: Servers, place: Path, rate: float) -> Figures:
    """Start everything, send, lose a part, regain it, settle, stop, and count."""
    with ExitStack() as held:
        sentinels = None
        if scenario.has_sentinels:
            sentinels = held.enter_context(sentinel_group(place / "sentinels"))
        stack = Stack(servers, place, SHORT, sentinels=sentinels, has_smpp=scenario.has_smpp)
        accounts = prepare(stack, [TOKENS], SHORT)
        held.callback(stack.kill)
        stack.start()
        with Traffic(stack, accounts) as traffic:
            lost_at, ends_at = _load(scenario, stack, traffic, rate)
        stack.stop()
        broken = broken_checks(stack.simulator_log, stack.journal)
        times = figures.times(stack.journal, stack.simulator_log, lost_at, ends_at)
        deaths = traffic.injector.deaths
        return Figures(**figures.counts(), **times, deaths=deaths, broken_checks=broken)  # type: ignore[arg-type]


def _load(scenario: Scenario, stack: Stack, traffic: Traffic, rate: float) -> tuple[float, float]:
    """(when the part was lost, when the load was over), in Unix seconds."""
    injector, begin, lost_at = traffic.injector, time.monotonic(), 0.0
    afterwards = max(AFTERWARDS, scenario.max_silence, scenario.max_delivery)
    seconds = WARM_UP + scenario.away + afterwards

    def lose() -> None:
        nonlocal lost_at
        lost_at = time.time()
        if scenario.lose(stack, injector) is False:
            raise RuntimeError("what was to be lost did not run")

    traffic.backend.schedule([_order(n, scenario, rate) for n in range(int(rate * seconds))], begin)
    injector.at(begin + WARM_UP, lose)
    injector.at(begin + WARM_UP + scenario.away, lambda: scenario.regain(stack))
    injector.run(lambda: time.monotonic() > begin + seconds, seconds + 1)
    ends_at = time.time()
    traffic.settle(ANSWERED_WITHIN)
    return lost_at, ends_at


def _order(n: int, scenario: Scenario, rate: float) -> PlannedRequest:
    """A code at a steady rate, each to a phone of its own, by every channel in turn."""
    channel = scenario.channels[n % len(scenario.channels)]
    phone, key = f"+{FIRST_PHONE + n}", str(uuid4())
    return PlannedRequest(
        n, n / rate, company=0, kind="code", channel=channel, phone=phone, key=key
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
