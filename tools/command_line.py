"""The command line of this folder's long commands: arguments, output, interruption, exit."""

import argparse
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Collection, Iterable, Sequence
from enum import IntEnum
from itertools import zip_longest
from pathlib import Path
from types import FrameType
from typing import Any

from config.local.processes import StartError, die_with_parent


class ExitCode(IntEnum):
    PASSED = 0
    FAILED = 1  # a promise is broken
    NOT_MADE = 2  # the run itself failed
    INTERRUPTED = 128 + signal.SIGINT
    TERMINATED = 128 + signal.SIGTERM


class TerminatedError(KeyboardInterrupt):
    """SIGTERM, handled like Ctrl-C."""


def run_command(name: str, run: Callable[[], int]) -> int:
    """Runs a command; returns the exit code, however it ends."""
    if "MAKELEVEL" in os.environ:  # stop if `make` is killed
        die_with_parent(signal.SIGTERM, os.getppid())
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
    signal.signal(signal.SIGTERM, _terminate)
    try:
        return run()
    except TerminatedError:
        say(f"{name}: terminated")
        return ExitCode.TERMINATED
    except KeyboardInterrupt:
        say(f"{name}: interrupted")
        return ExitCode.INTERRUPTED
    except StartError as error:
        say(f"{name}: {error}")
        return ExitCode.NOT_MADE
    except Exception:  # the top of the process
        say(f"{name}: the run could not be made\n{traceback.format_exc()}")
        return ExitCode.NOT_MADE


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _terminate(_number: int, _frame: FrameType | None) -> None:
    raise TerminatedError


def parser(command: str, description: str | None) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(prog=command, description=description)


def numbers(text: str) -> list[int]:
    """Reads `1-20`, `3`, or `1,4,7-9`."""
    numbers: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    if not numbers:
        raise ValueError(text)
    return numbers


def names_of(allowed: Collection[str]) -> Callable[[str], list[str]]:
    """A reader of names separated by commas, which returns them in the order of `allowed`."""

    def names(text: str) -> list[str]:
        requested = text.split(",")
        if unknown := set(requested) - set(allowed):
            raise argparse.ArgumentTypeError(f"unknown: {', '.join(sorted(unknown))}")
        return [name for name in allowed if name in requested]

    return names


def columns(rows: Iterable[Sequence[str]], *, left: int = 1) -> list[str]:
    """A line for each row; all columns but the first `left` are aligned to the right."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip_longest(*rows, fillvalue="")]
    return [
        "  ".join(
            cell.ljust(width) if index < left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=False))
        ).rstrip()
        for row in rows
    ]


def write_json(path: Path | None, content: Any) -> None:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(content, indent=1, ensure_ascii=False)
        path.write_text(f"{text}\n", encoding="utf-8")
