"""From an empty database to the rows asked for."""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence

from django.core.management import call_command
from django.db import connections

from tools.bench import beside, calls, following, handover, hang, path, runner, seed
from tools.bench.load import CannotMeasureError, Generator
from tools.bench.results import Row
from tools.bench.runner import Bench
from tools.bench.stack import Stack

FLOWS: dict[str, Callable[[Bench], list[Row]]] = {
    "handover": handover.measure,
    "hang": hang.measure,
    "beside": beside.measure,
    "path": path.measure,
}
CALLS = calls.CALLS | following.CALLS
ROWS = (*CALLS, *FLOWS)


def measure_all(bench: Bench, names: Sequence[str]) -> Iterator[Row]:
    """Those that cannot be measured are told, and the others go on."""
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
    call_command("migrate", verbosity=0)
    accounts = seed.companies()
    _let_go()
    bench = Bench(
        stack=stack,
        accounts=accounts,
        phones=seed.Phones(),
        generate=generate,
        seconds=options.seconds,
        rounds=options.rounds,
        connections=options.concurrency,
        say=say,
    )
    return list(measure_all(bench, options.only))


def _let_go() -> None:
    """A database that somebody is connected to cannot be copied."""
    ours = connections["default"]
    ours.close()
    ours.close_pool()  # type: ignore[attr-defined]
