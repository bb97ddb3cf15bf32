"""The exit codes of the commands in `tools`, and their last output."""

import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from config.environment.variables import ROOT

COMMANDS = [["chaos"], ["drills", "web"], ["soak"], ["bench"], ["growth"], ["examples"]]
PROGRAM = """
import sys, time
from pathlib import Path
from tools.command_line import ExitCode, run_command, say

def run() -> int:
    try:
        say("ready")
        {body}
    except KeyboardInterrupt:
        Path({cleaned!r}).touch()
        raise

sys.exit(run_command("tool", run))
"""


def program(place: Path, body: str) -> list[str]:
    return [sys.executable, "-c", PROGRAM.format(body=body, cleaned=str(place / "cleaned"))]


def without_files() -> None:
    """As on a full disk: the process can write no file."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_run_that_cannot_be_made_breaks_no_promise(command: list[str]) -> None:
    name, *options = command

    done = subprocess.run(
        [sys.executable, "-m", f"tools.{name}", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=without_files,
    )

    assert (done.returncode, done.stderr) == (2, "")
    assert "No usable temporary directory" in done.stdout


@pytest.mark.parametrize(
    ("body", "code", "printed"),
    [
        ("return ExitCode.PASSED", 0, []),
        ("return ExitCode.FAILED", 1, []),
        ("raise ValueError('no such vendor')", 2, ["ValueError: no such vendor", ""]),
    ],
)
def test_exit_code_says_how_a_run_ended(
    tmp_path: Path, body: str, code: int, printed: list[str]
) -> None:
    done = subprocess.run(
        program(tmp_path, body), cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout.splitlines()[0] == "ready"
    assert done.stdout.splitlines()[1:][-2:] == printed


@pytest.mark.parametrize(
    ("number", "code", "printed"),
    [(signal.SIGINT, 130, "tool: interrupted\n"), (signal.SIGTERM, 143, "tool: terminated\n")],
)
@pytest.mark.parametrize("shell", [[], ["sh", "-c", 'trap "" INT; exec "$0" "$@"']])
def test_stopped_run_cleans_up(
    tmp_path: Path, shell: list[str], number: signal.Signals, code: int, printed: str
) -> None:
    """A shell ignores SIGINT for what it starts in its background."""
    command = [*shell, *program(tmp_path, "time.sleep(60)")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        rest = process.stdout.read()

    assert (process.returncode, rest) == (code, printed)
    assert (tmp_path / "cleaned").exists()
