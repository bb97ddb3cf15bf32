"""`python -m tools.drills redis|web|worker|… [--rate 15] [--keep]`; `--help` lists the parts."""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from functools import partial

from tools.command_line import ExitCode, run_command, say
from tools.drills.scenarios import SCENARIOS


def main(arguments: Sequence[str]) -> int:
    given = _parser().parse_args(arguments)
    drill = partial(_all, arguments) if given.part == "all" else partial(_run, given)
    return run_command("drill", drill)


def _run(given: argparse.Namespace) -> int:
    from tools.drills.run import run  # noqa: PLC0415 - after the arguments: it imports everything

    breaches = run(given.part, given.rate, say, keeps=given.keep)
    return ExitCode.FAILED if breaches else ExitCode.PASSED


def _all(arguments: Sequence[str]) -> int:
    return max(_in_a_process(name, arguments) for name in SCENARIOS)


def _in_a_process(name: str, arguments: Sequence[str]) -> int:
    """Each with settings and stores of its own."""
    options = [name if word == "all" else word for word in arguments]
    done = subprocess.run([sys.executable, "-m", "tools.drills", *options], check=False)  # noqa: S603
    return done.returncode if done.returncode >= 0 else ExitCode.NOT_MADE  # it was killed


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="drill", description=__doc__)
    parser.add_argument("part", choices=[*SCENARIOS, "all"], help="what is lost under load")
    parser.add_argument("--rate", type=float, default=15.0, help="sends a second")
    parser.add_argument("--keep", action="store_true", help="keep data and logs in any case")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
