"""The last release is found by the subject of its commit."""

import subprocess
from pathlib import Path

import pytest

from tools.last_release import files, last_release


@pytest.fixture
def root(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet", "--initial-branch", "main")
    git(tmp_path, "config", "user.name", "Tester")
    git(tmp_path, "config", "user.email", "tester@example.com")
    for subject in (
        "Begin",
        "Release 0.1.0",
        "Release 0.2.0",
        "Go on",
        "Release the brake",
        "Go further",
    ):
        commit(tmp_path, subject)
    return tmp_path


def commit(root: Path, subject: str) -> None:
    (root / subject.replace(" ", "-")).touch()
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", subject)


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", "-C", root, *words], check=True)


def test_last_release_is_found_by_its_commit_subject(root: Path) -> None:
    result = last_release(root)

    assert result.version == "0.2.0"
    assert files(root, result) == {"Begin", "Release-0.1.0", "Release-0.2.0"}
