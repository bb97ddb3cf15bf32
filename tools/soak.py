"""`python -m tools.soak [--minutes 60] [--rate 20] [--json FILE]`: an hour of steady load, and
whether memory, connections and dead rows stay level.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from statistics import median

import psycopg
import redis
import requests

from config.environment.variables import ROOT
from tests.stack.resource_usage import tree, usage_of
from tools.chaos.checks import broken_checks
from tools.chaos.client import PhoneUsers
from tools.chaos.load import Traffic, prepare
from tools.chaos.plan import SHORT, PlannedRequest, UserBehaviour, steady
from tools.chaos.stack import Stack, kept
from tools.command_line import ExitCode, parser, run_command, say, write_json
from tools.stack.clients import Arrival

COMPANIES = 20
TOKENS = 10_000_000
THREADS = 32
EVERY = 10.0  # seconds between two samples
ANSWERED_WITHIN = 120.0  # seconds after the last send
# In turn: every channel, codes and links; every other code is entered.
KINDS = (("code", "whatsapp"), ("code", "sms"), ("code_link", "whatsapp"), ("link", "telegram"))
# What the last quarter may have, as a factor of the first one.
MEMORY = 1.1
OTHERS = 1.2
SLACK = 4.0  # megabytes, connections, threads: below that a ratio says nothing
ROWS_SLACK = 5_000
_NUMBERS = {
    "connections": "SELECT count(*) FROM pg_stat_activity"
    " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
    "dead_rows": "SELECT COALESCE(sum(n_dead_tup), 0)::bigint FROM pg_stat_user_tables",
    "open_messages": "SELECT count(*) FROM channels_openmessage",
}


@dataclass(frozen=True)
class Sample:
    at: float  # seconds since the load began
    memory: dict[str, float] = field(default_factory=dict)  # anonymous MB, by program
    files: int = 0  # open descriptors of all programs
    threads: int = 0
    connections: int = 0  # to PostgreSQL
    dead_rows: int = 0  # that vacuum has not removed yet
    redis: float = 0.0  # MB
    open_messages: int = 0
    answered: int = 0


def main(arguments: Sequence[str]) -> int:
    options = parser("make soak", __doc__)
    add = options.add_argument
    add("--minutes", type=float, default=60.0, help="of load, 60 by default")
    add("--rate", type=float, default=20.0, help="sends a second, 20 by default")
    add("--json", type=Path, help="where to keep every sample")
    return run_command("soak", partial(_soak, options.parse_args(arguments)))


def _soak(options: argparse.Namespace) -> ExitCode:
    """Starts everything, sends at a steady rate, looks every few seconds, settles and counts."""
    with kept(ROOT / "var/soak" / str(os.getpid()), say) as (servers, keep):
        stack = Stack(servers, ROOT / "var/soak" / str(os.getpid()), SHORT)
        accounts = prepare(stack, [TOKENS] * COMPANIES, SHORT)
        stack.start()
        try:
            with Traffic(stack, accounts, threads=THREADS) as traffic:
                samples = _load(stack, traffic, options.minutes * 60, options.rate)
            stack.stop()
        finally:
            stack.kill()
        rising = rises(samples)
        write_json(options.json, [asdict(sample) for sample in samples])
        broken = broken_checks(stack.simulator_log, stack.journal)
        broken = [*traffic.injector.deaths, *broken]
        if not broken:
            keep.clear()
    for line in [*(f"NOT LEVEL: {why}" for why in rising), *(f"BROKEN: {why}" for why in broken)]:
        say(line)
    return ExitCode.FAILED if rising or broken else ExitCode.PASSED


def _load(stack: Stack, traffic: Traffic, seconds: float, rate: float) -> list[Sample]:
    orders, visitors = [_order(n, rate) for n in range(int(rate * seconds))], Visitors()
    traffic.follow(PhoneUsers(traffic.backend, orders, stack.carrier).arrive)
    traffic.follow(visitors.arrive)  # a slow page delays no code
    begin, samples = time.monotonic(), list[Sample]()
    traffic.backend.schedule(orders, begin)
    with (
        psycopg.connect(stack.postgres.url, autocommit=True) as database,
        closing(redis.Redis.from_url(stack.redis.url)) as store,
    ):

        def look() -> None:
            at = time.monotonic() - begin
            samples.append(_sample(stack, database, store, at, traffic.backend.answered))
            if len(samples) % 6 == 1:
                say(_line(samples[-1]))
            if len(samples) * EVERY < seconds:
                traffic.injector.at(begin + len(samples) * EVERY, look)

        look()
        traffic.injector.run(lambda: time.monotonic() > begin + seconds, seconds + EVERY)
    traffic.settle(ANSWERED_WITHIN)
    say(f"{traffic.backend.answered:,} sends answered, {visitors.followed:,} links followed")
    return samples


def _order(n: int, rate: float) -> PlannedRequest:
    kind, channel = KINDS[n % len(KINDS)]
    person = UserBehaviour.CORRECT if kind != "link" and n % 8 < 4 else None
    sent = {"company": n % COMPANIES, "kind": kind, "channel": channel}
    return steady(n, rate, **sent, person=person, delay=1.0)


class Visitors:
    """People who follow each link that their phone got, once."""

    def __init__(self) -> None:
        self.followed = 0
        self._session = requests.Session()

    def arrive(self, arrival: Arrival) -> None:
        for link in arrival.links:
            with suppress(requests.RequestException):
                response = self._session.get(link, allow_redirects=False, timeout=10)
                self.followed += response.is_redirect


def _sample(
    stack: Stack, database: psycopg.Connection, store: redis.Redis, at: float, answered: int
) -> Sample:
    programs = {"web": stack.web, "worker": stack.worker, "beat": stack.beat}
    pids = {name: tree(program.running.pid) for name, program in programs.items()}
    usage = usage_of(programs.values())
    rows = {name: database.execute(query.encode()).fetchone() for name, query in _NUMBERS.items()}
    return Sample(
        at=round(at, 1),
        memory={name: sum(map(_anonymous_megabytes, group)) for name, group in pids.items()},
        files=usage.files,
        threads=usage.threads,
        redis=round(store.info("memory")["used_memory"] / 2**20, 1),
        answered=answered,
        **{name: int(row[0]) for name, row in rows.items() if row},
    )


def _anonymous_megabytes(pid: int) -> float:
    """The memory that the process allocated itself: files and shared pages are not its growth."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return round(int(line.split()[1]) / 1024, 1)
    return 0.0


def _line(sample: Sample) -> str:
    memory = ", ".join(f"{name} {size:.0f}" for name, size in sample.memory.items())
    return (
        f"{sample.at / 60:5.1f} min  {sample.answered:>8,} answered  "
        f"{sample.open_messages:>5} open  MB: {memory}, Redis {sample.redis:.0f}  "
        f"{sample.connections} connections  {sample.dead_rows:,} dead rows"
    )


def _figures(samples: Sequence[Sample]) -> Iterator[tuple[str, list[float], float, float]]:
    """The figures to judge: name, values, the allowed growth of the last quarter, and the part of
    it that is noise. Intended growth (Redis has idempotency keys for a day, tables their history)
    follows the load.
    """
    for name in samples[-1].memory:
        yield f"memory of {name}, MB", [row.memory[name] for row in samples], MEMORY, SLACK
    for name in ("files", "threads", "connections", "dead_rows", "open_messages"):
        title = "open files" if name == "files" else name.replace("_", " ")
        slack = ROWS_SLACK if name == "dead_rows" else SLACK
        yield title, [getattr(row, name) for row in samples], OTHERS, slack


def rises(samples: Sequence[Sample]) -> list[str]:
    """Figures of the last quarter above the second's: the first one fills caches and pools."""
    rising = []
    for name, values, most, slack in _figures(samples) if len(samples) >= 8 else ():
        before, after = quarters(values)
        if after > before * most + slack:
            rising.append(f"{name}: {before:,.0f} in the second quarter, {after:,.0f} in the last")
    return rising


def quarters(values: Sequence[float]) -> tuple[float, float]:
    """Medians of the second and of the last quarter."""
    part = max(1, len(values) // 4)
    return median(values[part : 2 * part] or values), median(values[-part:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
