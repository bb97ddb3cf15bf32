"""Runs the requested rows, starting from an empty database."""

import argparse
import time
from collections.abc import Callable

from django.core.management import call_command
from django.db import connections

from tools.bench import flows, runner
from tools.bench.api_calls import CALLS
from tools.bench.load import Generator
from tools.bench.results import Row
from tools.bench.runner import Bench
from tools.stack import seed
from tools.stack.stack import Account, CannotMeasureError, Stack

FLOWS: dict[str, Callable[[Bench], list[Row]]] = {
    "handover": flows.measure_handover,
    "hang": flows.measure_guesses,
    "beside": flows.measure_sends,
    "path": flows.measure_path,
}
ROWS = (*CALLS, *FLOWS)


def measure(
    options: argparse.Namespace, stack: Stack, generate: Generator, say: Callable[[str], None]
) -> list[Row]:
    """Reports the rows that cannot be measured, and goes on with the others."""
    bench = Bench(
        stack=stack,
        accounts=seeded(),
        phones=seed.Phones(),
        generate=generate,
        seconds=options.seconds,
        rounds=options.rounds,
        connections=options.concurrency,
    )
    rows: list[Row] = []
    for name in options.only:
        started = time.monotonic()
        try:
            flow = FLOWS.get(name)
            rows += flow(bench) if flow else runner.measure(bench, CALLS[name](bench))
        except CannotMeasureError as error:
            say(f"{name}: CANNOT BE MEASURED: {error}")
        say(f"{name}: {time.monotonic() - started:.0f} s")
    return rows


def seeded() -> list[Account]:
    """Companies in a migrated database, which is then ready to be copied."""
    call_command("migrate", verbosity=0)
    accounts = seed.companies(seed.COMPANIES)
    ours = connections["default"]
    ours.close()  # a database that somebody is connected to cannot be copied
    ours.close_pool()  # type: ignore[attr-defined]
    return accounts
