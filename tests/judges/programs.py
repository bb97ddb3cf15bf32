"""Runs a judge's program with the packages and files that `make judges` brought."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

DIRECTORY = Path(os.environ.get("JUDGES", "var/judges")).resolve()
PYTHON = DIRECTORY / "venv/bin/python"
MODULES = DIRECTORY / "node_modules"


def run(program: str | Path, *arguments: str | Path) -> str:
    """Returns the output of a program: a Python program here by its name, or any by its path."""
    if not PYTHON.exists():
        pytest.skip("`make judges` brings the judges")
    here = Path(__file__).with_name(program) if isinstance(program, str) else None
    if here is None:
        return _run([program], arguments)
    return _run([PYTHON, here], arguments, {"PYTHONPATH": str(Path(__file__).parents[2])})


def run_node(program: str, *arguments: str | Path) -> str:
    node = shutil.which("node")
    if node is None or not MODULES.exists():
        pytest.skip("`make judges` brings the judges, if Node.js is there")
    return _run([node, Path(__file__).with_name(program)], arguments).strip()


def _run(
    command: list[str | Path],
    arguments: tuple[str | Path, ...],
    variables: Mapping[str, str] = MappingProxyType({}),
) -> str:
    done = subprocess.run(
        [*command, *arguments],
        cwd=DIRECTORY,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-6000:]
    return said
