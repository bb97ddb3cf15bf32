"""Runs the requested rows, starting from an empty database."""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence

from django.core.management import call_command
from django.db import connections

from tools.bench.load.generator import Generator
from tools.bench.report.results import Row
from tools.bench.rows import (
    api_calls,
    end_to_end,
    handover,
    hanging_vendor,
    link_calls,
    runner,
)
from tools.bench.rows.runner import Bench
from tools.stack import seed
from tools.stack.programs import CannotMeasureError
from tools.stack.stack import Stack

FLOWS: dict[str, Callable[[Bench], list[Row]]] = {
    "handover": handover.measure,
    "hang": hanging_vendor.measure_guesses,
    "beside": hanging_vendor.measure_sends,
    "path": end_to_end.measure,
}
CALLS = api_calls.CALLS | link_calls.CALLS
ROWS = (*CALLS, *FLOWS)


def measure_all(bench: Bench, names: Sequence[str]) -> Iterator[Row]:
    """Reports the rows that cannot be measured, and goes on with the others."""
    for name in names:
        started = time.monotonic()
        try:
            flow = FLOWS.get(name)
            yield from flow(bench) if flow else runner.measure(bench, CALLS[name](bench))
        except CannotMeasureError as error:
            bench.say(f"{name}: CANNOT BE MEASURED: {error}")
        bench.say(f"{name}: {time.monotonic() - started:.0f} s")


def measure(
    options: argparse.Namespace, stack: Stack, generate: Generator, say: Callable[[str], None]
) -> list[Row]:
    bench = Bench(
        stack=stack,
        accounts=seeded(seed.COMPANIES),
        phones=seed.Phones(),
        generate=generate,
        seconds=options.seconds,
        rounds=options.rounds,
        connections=options.concurrency,
        say=say,
    )
    return list(measure_all(bench, options.only))


def seeded(companies: int) -> list[seed.Account]:
    """Companies in a migrated database, which is then ready to be copied."""
    call_command("migrate", verbosity=0)
    accounts = seed.companies(companies)
    _let_go()
    return accounts


def _let_go() -> None:
    """A database that somebody is connected to cannot be copied."""
    ours = connections["default"]
    ours.close()
    ours.close_pool()  # type: ignore[attr-defined]
