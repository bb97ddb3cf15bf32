"""The last release in git's history: by its tag, or by its commit where a clone has no tags."""

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
    """The release nearest to the checkout, which may be one itself."""
    try:
        releases = [each for each in (*_tagged(root), *_committed(root)) if _is_kept(each)]
    except (OSError, subprocess.CalledProcessError):
        raise NoReleaseError(f"{root} has no git history") from None
    if releases:
        return min(releases, key=lambda release: _distance(root, release))
    if _git(root, "rev-parse", "--is-shallow-repository") == "true":
        raise NoReleaseError("the clone is shallow: git fetch --unshallow --tags")
    first = ".".join(map(str, _FIRST))
    raise NoReleaseError(f"git's history has no release since {first}")


def files(root: Path, release: Release) -> set[str]:
    """The paths of all files of the release."""
    return set(_git(root, "ls-tree", "-r", "--name-only", release.commit).splitlines())


def _is_kept(release: Release) -> bool:
    return tuple(map(int, release.version.split("."))) >= _FIRST


def _tagged(root: Path) -> list[Release]:
    tags = _git(root, "tag", "--merged", "HEAD", "--list", "v[0-9]*.[0-9]*.[0-9]*").splitlines()
    return [Release(tag.removeprefix("v"), f"{tag}^{{commit}}") for tag in tags]


def _committed(root: Path) -> list[Release]:
    commits = _git(root, "log", "--format=%H %s", "--grep=^Release [0-9]").splitlines()
    parts = [line.split(" ", 1) for line in commits]
    named = [(commit, _SUBJECT.fullmatch(subject)) for commit, subject in parts]
    return [Release(match[1], commit) for commit, match in named if match]


def _distance(root: Path, release: Release) -> int:
    return int(_git(root, "rev-list", "--count", f"{release.commit}..HEAD"))


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(  # noqa: S603
        ["git", "-C", root, *arguments],  # noqa: S607
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()
