"""`python -m tools.drills redis|web|worker|… [--rate 15] [--keep]`; `--help` lists the parts."""

import argparse
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Sequence

from config.local.processes import die_with_parent
from tools.drills.scenarios import SCENARIOS

KEPT, BROKEN, NOT_MADE = 0, 1, 2


def main(arguments: Sequence[str]) -> int:
    given = _parser().parse_args(arguments)
    if "MAKELEVEL" in os.environ:  # `make` killed outright must not leave us behind
        die_with_parent(signal.SIGTERM, os.getppid())
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    if given.part == "all":
        return max(_in_a_process(name, arguments) for name in SCENARIOS)
    from tools.drills.run import run  # noqa: PLC0415 - after the arguments: it imports everything

    try:
        breaches = run(given.part, given.rate, _say, keeps=given.keep)
    except KeyboardInterrupt:
        _say("Interrupted.")
        return NOT_MADE
    except Exception:  # the process's edge: what the service did is not known
        _say(f"drill: it could not be made\n{traceback.format_exc()}")
        return NOT_MADE
    return BROKEN if breaches else KEPT


def _in_a_process(name: str, arguments: Sequence[str]) -> int:
    """Each with settings and stores of its own."""
    options = [name if word == "all" else word for word in arguments]
    return subprocess.run([sys.executable, "-m", "tools.drills", *options], check=False).returncode  # noqa: S603


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="drill", description=__doc__)
    parser.add_argument("part", choices=[*SCENARIOS, "all"], help="what is lost under load")
    parser.add_argument("--rate", type=float, default=15.0, help="sends a second")
    parser.add_argument("--keep", action="store_true", help="keep data and logs in any case")
    return parser


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
