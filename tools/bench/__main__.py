"""`python -m tools.bench`: starts everything, measures the requested rows, reports."""

import argparse
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from tools.bench import machine, results
from tools.bench.load import HINT, PythonLoop, generator
from tools.bench.results import Row
from tools.command_line import ExitCode, names_of, numbers, parser, run_command, say, write_json
from tools.stack.stack import SEEDED, Stack, set_up, temporary_stack

RESULTS = Path(__file__).parent / "results"
ROWS = (
    *("verify", "send", "compat", "hot", "shorten", "redirect", "wait", "counted", "cold", "bulk"),
    *("handover", "hang", "beside", "path"),
)


def main(arguments: Sequence[str]) -> int:
    """Returns 0 whatever the figures are; 2 if some could not be measured."""
    return run_command("bench", partial(_run, _options(arguments)))


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    options = parser("make bench", __doc__)
    add = options.add_argument
    add("--only", type=names_of(ROWS), default=ROWS, help=f"rows, among {','.join(ROWS)}")
    add("--seconds", type=int, default=2, help="per interval, 2 by default")
    add("--rounds", type=int, default=4, help="intervals per side, 4 by default")
    add("--concurrency", type=numbers, default=[1, 16, 64], help="connections, 1,16,64 by default")
    add("--json", type=Path, help="file for all figures; in bench/results/ by default")
    return options.parse_args(arguments)


def _run(options: argparse.Namespace) -> ExitCode:
    started = time.monotonic()
    with temporary_stack("bench") as stack:
        set_up(stack.url(SEEDED))
        result, rows = _session(options, stack)
    result |= {"took": round(time.monotonic() - started, 1)}
    result |= {"rows": [row.as_dict() for row in rows]}
    say("\n" + results.table(rows) + "\n\n" + results.summary(rows))
    for line in result["complaints"]:
        say(line)
    stamp = result["at"].replace(":", "").partition("+")[0]
    path = options.json or RESULTS / f"{stamp}.json"
    write_json(path, result)
    say(f"Everything: {path}")
    is_complete = {row.name for row in rows} == set(options.only)
    return ExitCode.PASSED if is_complete else ExitCode.NOT_MADE


def _session(options: argparse.Namespace, stack: Stack) -> tuple[dict[str, Any], list[Row]]:
    stack.set_up_django()
    from tools.bench import flows  # noqa: PLC0415 - needs Django set up

    generate = generator(stack.place)
    if isinstance(generate, PythonLoop):
        say(HINT)
    result = machine.describe(stack.postgres.directory) | {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "client": generate.name,
        "settings": {"seconds": options.seconds, "rounds": options.rounds},
    }
    say(machine.description(result))
    rows = flows.measure(options, stack, generate, say)
    return result | {"complaints": [*stack.complaints()], "loop_ms_after": machine.loop()}, rows


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
