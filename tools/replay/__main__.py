"""`python -m tools.replay --world FILE… [--seeds 1-20] [--sensitivity | --live N] [--json OUT]`."""

import argparse
import os
import signal
import sys
import time
from collections.abc import Sequence
from functools import partial
from multiprocessing.pool import Pool
from pathlib import Path
from typing import Any

from config.local.processes import StartError, die_with_parent
from tools.command_line import ExitCode, numbers, parser, run_command, say, write_json
from tools.replay import plots
from tools.replay.goals import goals, line
from tools.replay.run import Result, as_json, run, table
from tools.replay.sensitivity import variants
from tools.replay.world import World, build, read

MAX_LIVE = 1_000_000
SHIPPED = Path(__file__).parent / "worlds"


def main(arguments: Sequence[str]) -> int:
    options = parser("make replay", __doc__)
    add = options.add_argument
    add("--world", type=Path, nargs="+", action="extend", help="JSON files; all shipped by default")
    add("--seeds", type=numbers, default=numbers("1-3"), help="such as 1-20; 1-3 by default")
    add("--sensitivity", action="store_true", help="also with uncertain numbers halved, doubled")
    add("--live", type=many, metavar="N", help="N sends of a world through the service, too")
    add("--jobs", type=int, default=os.cpu_count() or 1, help="processes; all cores by default")
    add("--json", type=Path, help="where to write the figures of each world and seed")
    add("--plots", type=Path, help="folder for drawings of regret, attack cost and recovery")
    return run_command("replay", partial(_run, options.parse_args(arguments)))


def _run(options: argparse.Namespace) -> ExitCode:
    files = [read(path) for path in options.world or sorted(SHIPPED.glob("*.json"))]
    worlds = [build(file) for file in files]
    if options.live:
        return _run_live(options, worlds)
    results: list[Result] = []
    flips: list[dict[str, Any]] = []
    with Pool(options.jobs, _begin_worker) as pool:  # which ends its workers, whatever ends us
        for file, world in zip(files, worlds, strict=True):
            of_world = _play(pool, world, options.seeds)
            results += of_world
            if options.sensitivity:
                flips += _flips(pool, file, world, of_world)
    write_json(options.json, as_json(results) | ({"flips": flips} if options.sensitivity else {}))
    if options.plots:
        for name, drawing in plots.drawings(results):
            (options.plots / f"{name}.svg").write_text(drawing, encoding="utf-8")
    return ExitCode.PASSED


def _run_live(options: argparse.Namespace, worlds: Sequence[World]) -> ExitCode:
    from tools.replay.live.run import run_live  # noqa: PLC0415 - it imports the whole stack

    if len(worlds) != 1:
        raise StartError("--live plays one world: name it with --world")
    result = run_live(worlds[0], options.seeds[0], options.live, say)
    for text in result.lines():
        say(text)
    write_json(options.json, {"worlds": [], "live": result.as_json()})
    return ExitCode.PASSED if result.agrees else ExitCode.FAILED


def _begin_worker() -> None:
    """Ends with its parent, even one that was killed, and at once: it has nothing to clean up."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent(signal.SIGKILL, os.getppid())


def _play(pool: Pool, world: World, seeds: Sequence[int]) -> list[Result]:
    began = time.monotonic()
    results = pool.map(partial(run, world), seeds, 1)
    for text in table(results):
        say(text)
    for goal in goals(world, results):
        say(line(goal))
    sends = sum(row.policies["ours"].sends for row in results)
    say(f"  {sends} sends after warm-up in {time.monotonic() - began:.0f} s\n")
    return results


def _flips(pool: Pool, file: Any, world: World, results: Sequence[Result]) -> list[dict[str, Any]]:
    """The goals that hold in the world, and not with one of its numbers at half or at twice."""
    held = {goal.name for goal in goals(world, results) if goal.is_held}
    seeds = [row.seed for row in results]
    changed = [(name, build(row)) for name, row in variants(file)]
    played = [(name, row, pool.map_async(partial(run, row), seeds, 1)) for name, row in changed]
    flips = []
    for name, row, running in played:
        missed = [goal for goal in goals(row, running.get()) if not goal.is_held]
        flipped = [goal for goal in missed if goal.name in held]
        say(f"  {name}: " + ("; ".join(line(goal).strip() for goal in flipped) or "as above"))
        flips += [
            {"world": world.name, "change": name, "goal": goal.name, "measured": goal.measured}
            for goal in flipped
        ]
    say(f"  {len(changed)} changes, {len(flips)} goals flipped\n")
    return flips


def many(text: str) -> int:
    """Sends of a live run: each has its own number, of a million of its policy."""
    if not 1 <= int(text) <= MAX_LIVE:
        raise ValueError(text)
    return int(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
