"""`python -m tools.soak [--minutes 60] [--rate 20] [--plot FILE] [--json FILE]`."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from tools.command_line import ExitCode, run_command, say
from tools.soak.level import rises
from tools.soak.plot import plot
from tools.soak.samples import Sample


def main(arguments: Sequence[str]) -> int:
    return run_command("soak", partial(_run, _parser().parse_args(arguments)))


def _run(given: argparse.Namespace) -> ExitCode:
    from tools.soak.run import run  # noqa: PLC0415 - after the arguments: it imports everything

    rising: list[str] = []

    def keep(samples: list[Sample]) -> None:
        rising.extend(rises(samples))
        if given.json:
            seen = [asdict(sample) for sample in samples]
            given.json.write_text(json.dumps(seen, indent=1) + "\n", encoding="utf-8")
        if given.plot:
            given.plot.write_text(plot(samples, given.rate), encoding="utf-8")

    broken = run(given.minutes, given.rate, say, keep)
    for line in rising:
        say(f"NOT LEVEL: {line}")
    for line in broken:
        say(f"BROKEN: {line}")
    return ExitCode.FAILED if rising or broken else ExitCode.PASSED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    add = parser.add_argument
    add("--minutes", type=float, default=60.0, help="of load, 60 by default")
    add("--rate", type=float, default=20.0, help="sends a second, 20 by default")
    add("--plot", type=Path, help="where to draw it, as SVG")
    add("--json", type=Path, help="where to keep every sample")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
