"""`python -m tools.chaos --seed 7 --sends 5000 --kills 20 [--flush] [--short] [--months]
[--payments] [--json F]`."""

import argparse
import secrets
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from config.environment.variables import ROOT
from tools.chaos.plan import Options
from tools.command_line import ExitCode, run_command, say


def main(arguments: Sequence[str]) -> int:
    return run_command("chaos", partial(_run, _parser().parse_args(arguments)))


def _run(given: argparse.Namespace) -> ExitCode:
    from tools.chaos.run import run  # noqa: PLC0415 - after the arguments: it imports everything

    seed = secrets.randbelow(1_000_000) if given.seed is None else given.seed
    sends = given.sends or (330 if given.short else 5000)
    kills = (6 if given.short else 20) if given.kills is None else given.kills
    options = Options(
        seed,
        sends,
        kills,
        given.flush,
        given.short,
        keep=given.keep,
        months=given.months,
        smart=given.smart,
        payments=given.payments,
    )
    say(f"seed {seed}")
    report = run(options, say)
    report.save(given.json or ROOT / "tools/chaos/results" / f"{seed}.json")
    for line in report.lines():
        say(line)
    return ExitCode.PASSED if report.is_clean else ExitCode.FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="chaos", description=__doc__)
    parser.add_argument("--seed", type=int, help="what everything is drawn from")
    parser.add_argument("--sends", type=int, help="how many orders; 5000, or 330 if short")
    parser.add_argument("--kills", type=int, help="how many kills; 20, or 6 if short")
    parser.add_argument("--flush", action="store_true", help="empty Redis every second")
    parser.add_argument("--short", action="store_true", help="a minute; deadlines are aged")
    parser.add_argument("--months", action="store_true", help="old months are archived under kills")
    parser.add_argument(
        "--smart", action="store_true", help="smart routing for companies that fall back"
    )
    parser.add_argument("--payments", action="store_true", help="top-ups, and kills at credits")
    parser.add_argument("--keep", action="store_true", help="keep data and logs in any case")
    parser.add_argument("--json", type=Path, help="where the report goes")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
