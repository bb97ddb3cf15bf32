"""The last release in git's history, which is linear: by its commit, as a clone may lack tags."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

_SUBJECT = re.compile(r"Release (\d+\.\d+\.\d+)")
_FIRST = (0, 2, 0)  # upgrades are kept from it on


class NoReleaseError(Exception):
    """Why none was found, in one line for people."""


@dataclass(frozen=True)
class Release:
    version: str
    commit: str


def last_release(root: Path) -> Release:
    """The newest one; the checkout may be it."""
    try:
        commits = _git(root, "log", "--format=%H %s", "--grep=^Release [0-9]").splitlines()
    except (OSError, subprocess.CalledProcessError):
        raise NoReleaseError(f"{root} has no git history") from None
    for commit, _, subject in (line.partition(" ") for line in commits):
        match = _SUBJECT.fullmatch(subject)
        if match and tuple(map(int, match[1].split("."))) >= _FIRST:
            return Release(match[1], commit)
    if _git(root, "rev-parse", "--is-shallow-repository") == "true":
        raise NoReleaseError("the clone is shallow: git fetch --unshallow --tags")
    first = ".".join(map(str, _FIRST))
    raise NoReleaseError(f"git's history has no release since {first}")


def files(root: Path, release: Release) -> set[str]:
    """The paths of all files of the release."""
    return set(_git(root, "ls-tree", "-r", "--name-only", release.commit).splitlines())


def _git(root: Path, *arguments: str) -> str:
    process = subprocess.run(  # noqa: S603
        ["git", "-C", root, *arguments],  # noqa: S607
        capture_output=True,
        text=True,
        check=True,
    )
    return process.stdout.strip()
