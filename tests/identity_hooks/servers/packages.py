"""`python -m tests.identity_hooks.servers.packages` installs them into var/; without them, or npm,
the tests are skipped.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from config.environment.variables import ROOT
from tools.examples.languages import BuildError, MissingError, Workspace, npm

PACKAGES = (
    "better-auth@1.7.25",
    "@logto/connector-http-sms@0.2.1",
)
PLACE = Workspace(Path(__file__).parent, ROOT / "var/identity-servers")


def install() -> None:
    npm(PLACE, ["--ignore-scripts", *PACKAGES])


def program(name: str, text: str) -> list[str | Path]:
    """The command that runs this text next to the packages."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no Node.js")
    if not (PLACE.build / "node_modules/better-auth").exists():
        try:
            install()
        except (BuildError, MissingError) as error:
            pytest.skip(f"no packages: {error}")
    path = PLACE.build / name
    path.write_text(text, encoding="utf-8")
    return [node, path]


def source(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def run(name: str, *arguments: str) -> str:
    command = program(name, source(name))
    done = subprocess.run(
        [*command, *arguments], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


if __name__ == "__main__":
    try:
        install()
    except (BuildError, MissingError) as error:
        sys.exit(str(error))
