"""How the long commands of this folder print, are interrupted, and end."""

import os
import signal
import sys
import traceback
from collections.abc import Callable
from enum import IntEnum
from types import FrameType

from config.local.processes import die_with_parent


class ExitCode(IntEnum):
    PASSED = 0
    FAILED = 1  # a promise is broken
    NOT_MADE = 2  # of the promises nothing is known
    INTERRUPTED = 128 + signal.SIGINT
    TERMINATED = 128 + signal.SIGTERM


class TerminatedError(KeyboardInterrupt):
    """SIGTERM: whatever cleans up after Ctrl-C does so after this."""


def run_command(name: str, run: Callable[[], int]) -> int:
    """The exit code, whatever ends the run."""
    if "MAKELEVEL" in os.environ:  # `make` killed outright must not leave us behind
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
    except Exception:  # the process's edge
        say(f"{name}: the run could not be made\n{traceback.format_exc()}")
        return ExitCode.NOT_MADE


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _terminate(_number: int, _frame: FrameType | None) -> None:
    raise TerminatedError
