"""`make profile`: where the CPU and the time of one message go, by process and by cause."""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

from tools.bench import machine
from tools.bench.profile.python_stacks import Control
from tools.command_line import ExitCode, parser, run_command, say, write_json
from tools.stack.stack import SEEDED, Setup, Stack, set_up, temporary_stack

DATABASE = "bench_profile"
WAITERS = 48  # as the service has by default


def main(arguments: Sequence[str]) -> int:
    """Returns 0 whatever the figures are; 2 if they could not be measured."""
    options = parser("make profile", __doc__)
    add = options.add_argument
    add("--messages", type=int, default=500, help="per round, 500 by default")
    add("--rounds", type=int, default=3, help="per window, of which there are three; 3 by default")
    add("--connections", type=int, default=8, help="concurrent sends, 8 by default")
    add("--no-wait", action="store_true", help="sends are answered `queued` at once")
    add("--json", type=Path, help="a file for all figures")
    return run_command("profile", partial(_run, options.parse_args(arguments)))


def _run(options: argparse.Namespace) -> ExitCode:
    with temporary_stack("profile") as stack:
        stack.set_up_django()
        set_up(stack.url(SEEDED))
        control = Control(stack.place / "profile")
        stack.environ |= control.environ()
        facts = machine.describe(stack.postgres.directory) | {"client": "built-in client"}
        say(machine.description(facts))
        write_json(options.json, facts | _measure(options, stack, control))
    return ExitCode.PASSED


def _measure(options: argparse.Namespace, stack: Stack, control: Control) -> dict[str, Any]:
    """All figures, for the file."""
    from tools.bench.profile import report, statements, windows  # noqa: PLC0415 - needs Django set up
    from tools.stack import seed  # noqa: PLC0415

    accounts, phones = seed.migrated(), seed.Phones()
    stack.copy(DATABASE)
    with psycopg.connect(stack.url("postgres"), autocommit=True) as admin:
        statements.prepare(admin, DATABASE)
    setup = Setup(DATABASE, waiters=0 if options.no_wait else WAITERS, delivery=True)
    load = windows.MessageLoad(stack, accounts, phones)
    count, connections = options.messages, options.connections
    profiler = windows.Profiler(
        stack, setup, control, load, messages=count, connections=connections, say=say
    )
    profile = profiler.run(options.rounds)
    say("\n" + report.text(profile))
    for line in stack.complaints():
        say(line)
    return report.as_dict(profile)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
