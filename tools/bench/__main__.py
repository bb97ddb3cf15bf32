"""`python -m tools.bench`: start everything, measure the requested rows, report."""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

from config.local.processes import StartError
from tools.bench.load.generator import HINT, PythonLoop, generator
from tools.bench.report import machine, table
from tools.bench.report.results import Row
from tools.command_line import ExitCode, run_command, say
from tools.stack.programs import CannotMeasureError
from tools.stack.stack import SEEDED, Stack, set_up, temporary_stack

RESULTS = Path(__file__).parent / "results"
ROWS = (
    "verify",
    "send",
    "hot",
    "shorten",
    "redirect",
    "wait",
    "counted",
    "cold",
    "scan",
    "bulk",
    "handover",
    "hang",
    "beside",
    "path",
)


def main(arguments: Sequence[str]) -> int:
    """0 whatever the figures are; 2 when some could not be had."""
    return run_command("bench", partial(_run, _options(arguments)))


def _run(options: argparse.Namespace) -> ExitCode:
    started = time.monotonic()
    try:
        with temporary_stack("bench") as stack:
            set_up(stack.url(SEEDED))
            result, rows = _session(options, stack)
    except (CannotMeasureError, StartError, OSError, psycopg.Error) as error:
        say(f"bench: cannot measure: {error}")
        return ExitCode.NOT_MADE
    result |= {
        "took": round(time.monotonic() - started, 1),
        "rows": [row.as_dict() for row in rows],
    }
    say("\n" + table.table(rows) + "\n\n" + table.summary(rows))
    for program, lines in result["complaints"].items():
        say(f"{program} logged {len(lines)} errors, the first: {lines[0]}")
    _save(result, options.json)
    is_complete = {row.name for row in rows} == set(options.only)
    return ExitCode.PASSED if is_complete else ExitCode.NOT_MADE


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    add = parser.add_argument
    add("--only", type=_names, default=ROWS, help=f"rows, of {','.join(ROWS)}")
    add("--seconds", type=int, default=2, help="of an interval, 2 by default")
    add("--rounds", type=int, default=4, help="intervals of each side, 4 by default")
    add("--concurrency", type=_numbers, default=[1, 16, 64], help="connections, 1,16,64 by default")
    add("--json", type=Path, help="where to keep everything; bench/results/ by default")
    add("--own-client", action="store_true", help="do without wrk")
    return parser.parse_args(arguments)


def _names(text: str) -> list[str]:
    names = text.split(",")
    if unknown := set(names) - set(ROWS):
        raise argparse.ArgumentTypeError(f"no such rows: {', '.join(sorted(unknown))}")
    return [name for name in ROWS if name in names]


def _numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def _session(options: argparse.Namespace, stack: Stack) -> tuple[dict[str, Any], list[Row]]:
    stack.set_up_django()
    from tools.bench import session  # noqa: PLC0415 - needs Django set up

    generate = generator(stack.place, own=options.own_client)
    if isinstance(generate, PythonLoop):
        say(HINT)
    result = machine.describe(stack.postgres.directory) | {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "client": generate.name,
        "settings": {"seconds": options.seconds, "rounds": options.rounds},
    }
    say(machine.words(result))
    rows = session.measure(options, stack, generate, say)
    return result | {"complaints": stack.complaints(), "loop_ms_after": machine.loop()}, rows


def _save(result: dict[str, Any], path: Path | None) -> None:
    stamp = result["at"].replace(":", "").partition("+")[0]
    path = path or RESULTS / f"{stamp}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    say(f"Everything: {path}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
