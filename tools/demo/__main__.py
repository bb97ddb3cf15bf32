"""`python -m tools.demo`: the demo companies of `make run`; `… history`: a generated history."""

import argparse
import os
import sys
from collections.abc import Sequence
from functools import partial

import django
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError

from config.local.demo_environment import load_running
from tools.command_line import ExitCode, run_command
from tools.demo import DemoError


def main(arguments: Sequence[str]) -> int:
    options = options_of(arguments)
    load_running()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    return run_command("demo", partial(_run, options))


def _run(options: argparse.Namespace) -> ExitCode:
    try:
        django.setup()
        make(options)
    except (ImproperlyConfigured, OperationalError) as error:
        raise DemoError(str(error)) from None
    return ExitCode.PASSED


def make(options: argparse.Namespace) -> None:
    from tools.demo import demo_json, history  # noqa: PLC0415 - they need Django set up

    if settings.PRODUCTION:
        raise DemoError("Demo data is not for production.")
    if options.what is None:
        demo_json.write()
    else:
        history.of_companies(
            options.companies,
            messages=options.messages,
            months=options.months,
            beside_real_companies=options.beside_real_companies,
        )


def options_of(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tools.demo",
        description="Makes the demo companies, a login and keys, once; writes them to"
        " var/demo.json. Not in production.",
    )
    commands = parser.add_subparsers(dest="what")
    history = commands.add_parser(
        "history",
        description="Fills the days before today with messages of made-up companies, 2 KB of disk"
        " each. A run that was interrupted is continued by the same command, and a larger"
        " number of messages adds to those that are there.",
    )
    add = history.add_argument
    add("--messages", type=int, default=1_000_000)
    add("--companies", type=int, default=1_000, help="a few large, most small, 1000 by default")
    add("--months", type=int, default=6, help="of 30 days, 6 by default")
    add("--beside-real-companies", action="store_true")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
