"""`python -m tools.replay --world FILE… [--seeds 1-20] [--json OUT]`."""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from tools.command_line import ExitCode, run_command, say
from tools.replay.report import as_json, table
from tools.replay.run import run
from tools.replay.world import load
from tools.replay.world_format import WorldError

SHIPPED = Path(__file__).parent / "worlds"


def main(arguments: Sequence[str]) -> int:
    return run_command("replay", partial(_run, _parser().parse_args(arguments)))


def _run(given: argparse.Namespace) -> ExitCode:
    try:
        worlds = [(path, load(path)) for path in given.world or sorted(SHIPPED.glob("*.json"))]
    except (WorldError, OSError) as error:
        say(f"replay: {error}")
        return ExitCode.NOT_MADE
    results = []
    for _, world in worlds:
        began = time.monotonic()
        of_world = [run(world, seed) for seed in given.seeds]
        results += of_world
        for line in table(of_world):
            say(line)
        sends = sum(one.policies["ours"].sends for one in of_world)
        say(f"  {sends} sends after warm-up in {time.monotonic() - began:.0f} s\n")
    if given.json:
        text = json.dumps(as_json(results), indent=1) + "\n"
        given.json.write_text(text, encoding="utf-8")
    return ExitCode.PASSED


def seeds(text: str) -> list[int]:
    """`1-20`, `3`, or `1,4,7-9`."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    if not found:
        raise ValueError(text)
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make replay", description=__doc__)
    add = parser.add_argument
    add("--world", type=Path, nargs="+", action="extend", help="JSON files; all shipped by default")
    add("--seeds", type=seeds, default=seeds("1-3"), help="such as 1-20; 1-3 by default")
    add("--json", type=Path, help="where to write the figures of each world and seed")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
