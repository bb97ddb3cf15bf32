"""`python -m tools.soak [--minutes 60] [--rate 20] [--plot FILE] [--json FILE]`."""

import argparse
import json
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from config.local.processes import die_with_parent
from tools.soak.level import rises
from tools.soak.plot import plot
from tools.soak.samples import Sample

LEVEL, RISING, NOT_MADE = 0, 1, 2


def main(arguments: Sequence[str]) -> int:
    given = _parser().parse_args(arguments)
    if "MAKELEVEL" in os.environ:  # `make` killed outright must not leave us behind
        die_with_parent(signal.SIGTERM, os.getppid())
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    from tools.soak.run import run  # noqa: PLC0415 - after the arguments: it imports everything

    rising: list[str] = []

    def keep(samples: list[Sample]) -> None:
        rising.extend(rises(samples))
        if given.json:
            seen = [asdict(sample) for sample in samples]
            given.json.write_text(json.dumps(seen, indent=1) + "\n", encoding="utf-8")
        if given.plot:
            given.plot.write_text(plot(samples, given.rate), encoding="utf-8")

    try:
        broken = run(given.minutes, given.rate, _say, keep)
    except KeyboardInterrupt:
        _say("Interrupted.")
        return NOT_MADE
    for line in rising:
        _say(f"NOT LEVEL: {line}")
    for line in broken:
        _say(f"BROKEN: {line}")
    return RISING if rising or broken else LEVEL


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    add = parser.add_argument
    add("--minutes", type=float, default=60.0, help="of load, 60 by default")
    add("--rate", type=float, default=20.0, help="sends a second, 20 by default")
    add("--plot", type=Path, help="where to draw it, as SVG")
    add("--json", type=Path, help="where to keep every sample")
    return parser


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
