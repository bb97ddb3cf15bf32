"""`make profile`: where the CPU and the time of one message go, by process and by cause."""

import argparse
import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import psycopg

from config.local.processes import StartError
from tools.bench.profile.control import Control
from tools.bench.report import machine
from tools.command_line import ExitCode, run_command, say
from tools.stack.programs import CannotMeasureError
from tools.stack.stack import SEEDED, Stack, set_up, temporary_stack


def main(arguments: Sequence[str]) -> int:
    """0 whatever the figures are; 2 when they could not be had."""
    return run_command("profile", partial(_run, _options(arguments)))


def _run(options: argparse.Namespace) -> ExitCode:
    try:
        with temporary_stack("profile") as stack:
            stack.set_up_django()
            set_up(stack.url(SEEDED))
            control = Control(stack.place / "profile")
            stack.environ |= control.environ()
            _session(options, stack, control)
    except (CannotMeasureError, StartError, OSError, psycopg.Error) as error:
        say(f"profile: cannot measure: {error}")
        return ExitCode.NOT_MADE
    return ExitCode.PASSED


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make profile", description=__doc__)
    add = parser.add_argument
    add("--messages", type=int, default=500, help="of a round, 500 by default")
    add("--rounds", type=int, default=3, help="of each of the three windows, 3 by default")
    add("--connections", type=int, default=8, help="sends under way at a time, 8 by default")
    add("--no-wait", action="store_true", help="each send is answered `queued` at once")
    add("--timeline", type=int, metavar="MESSAGES", help="instead: the steps of single messages")
    add("--json", type=Path, help="a file for all figures")
    return parser.parse_args(arguments)


def _session(options: argparse.Namespace, stack: Stack, control: Control) -> None:
    from tools.bench.profile import session  # noqa: PLC0415 - needs Django set up

    facts = machine.describe(stack.postgres.directory) | {"client": "built-in client"}
    say(machine.words(facts))
    found = session.measure(options, stack, control, say)
    if options.json:
        options.json.write_text(json.dumps(facts | found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
