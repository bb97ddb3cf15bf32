"""The programs of `make` start without a database: they bring their own."""

import os
import re
import subprocess
import sys

from config.environment.variables import ROOT

PROGRAMS = re.findall(r"-m (tools\.\S+) \$\(ARGS\)", (ROOT / "Makefile").read_text("utf-8"))
SETTINGS = ("DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE")


def test_every_program_describes_itself_without_a_database() -> None:
    bare = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    running = {
        program: subprocess.Popen(
            [sys.executable, "-m", program, "--help"],
            cwd=ROOT,
            env=bare,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for program in PROGRAMS
    }

    said = {program: (process.communicate()[0], process) for program, process in running.items()}

    assert "tools.chaos" in said
    assert {name: text for name, (text, process) in said.items() if process.returncode} == {}
