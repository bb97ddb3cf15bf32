"""`python -m tools.chaos --seed 7 --sends 5000 --kills 20 [--flush] [--short] [--months]
[--json F]`."""

import argparse
import os
import secrets
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from config.environment.variables import ROOT
from config.local.processes import die_with_parent
from tools.chaos.plan import Options
from tools.chaos.run import run

KEPT, BROKEN, NOT_MADE = 0, 1, 2


def main(arguments: Sequence[str]) -> int:
    given = _parser().parse_args(arguments)
    seed = secrets.randbelow(1_000_000) if given.seed is None else given.seed
    sends = given.sends or (330 if given.short else 5000)
    kills = (6 if given.short else 20) if given.kills is None else given.kills
    options = Options(seed, sends, kills, given.flush, given.short, given.keep, given.months)
    if "MAKELEVEL" in os.environ:  # `make` killed outright must not leave us behind
        die_with_parent(signal.SIGTERM, os.getppid())
    for number in (signal.SIGINT, signal.SIGTERM):  # the first is ignored in the background
        signal.signal(number, _interrupt)
    _say(f"seed {seed}")
    try:
        report = run(options, _say)
    except KeyboardInterrupt:
        _say("Interrupted.")
        return NOT_MADE
    except Exception:  # the process's edge: what the service did is not known
        _say(f"chaos: the run could not be made\n{traceback.format_exc()}")
        return NOT_MADE
    report.save(given.json or ROOT / "tools/chaos/results" / f"{seed}.json")
    for line in report.lines():
        _say(line)
    return KEPT if report.is_clean else BROKEN


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="chaos", description=__doc__)
    parser.add_argument("--seed", type=int, help="what everything is drawn from")
    parser.add_argument("--sends", type=int, help="how many orders; 5000, or 330 if short")
    parser.add_argument("--kills", type=int, help="how many kills; 20, or 6 if short")
    parser.add_argument("--flush", action="store_true", help="empty Redis every second")
    parser.add_argument("--short", action="store_true", help="a minute; deadlines are aged")
    parser.add_argument("--months", action="store_true", help="old months are archived under kills")
    parser.add_argument("--keep", action="store_true", help="keep data and logs in any case")
    parser.add_argument("--json", type=Path, help="where the report goes")
    return parser


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
