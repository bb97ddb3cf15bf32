"""`make profile`: where the CPU and the time of one message go, by process and by cause."""

import argparse
import json
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import django
import psycopg

from config.local.embedded import temporary
from config.local.processes import StartError
from tools.bench.load.generator import CannotMeasureError
from tools.bench.profile.control import Control
from tools.bench.report import machine
from tools.bench.stack.stack import SEEDED, Stack, set_up


def main(arguments: Sequence[str]) -> int:
    options = _options(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that everything is stopped
    try:
        with tempfile.TemporaryDirectory(prefix="kvitok-profile-") as place:
            _measure(options, Path(place))
    except (CannotMeasureError, StartError, OSError, psycopg.Error) as error:
        say(f"profile: cannot measure: {error}")
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


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


def _measure(options: argparse.Namespace, place: Path) -> None:
    (place / "log").mkdir()
    with temporary(durable=True, environ={}) as servers:
        stack = Stack(servers, place)
        control = Control(place / "profile")
        stack.environ |= control.environ()
        try:
            set_up(stack.url(SEEDED))
            _session(options, stack, control)
        finally:
            stack.close()


def _session(options: argparse.Namespace, stack: Stack, control: Control) -> None:
    own = {name: value for name, value in stack.environ.items() if name not in control.environ()}
    os.environ.update(own | {"DJANGO_SETTINGS_MODULE": "config.settings"})
    django.setup()
    from tools.bench.profile import session  # noqa: PLC0415 - needs Django set up

    facts = machine.describe(stack.postgres.directory) | {"client": "built-in client"}
    say(machine.words(facts))
    found = session.measure(options, stack, control, say)
    if options.json:
        options.json.write_text(json.dumps(facts | found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
