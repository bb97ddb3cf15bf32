"""The manifest of a backup: what it holds, what it was made by, and what proves it whole."""

import hashlib
import json
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from config.environment.variables import ROOT
from operator_admin.backup import BackupError
from operator_admin.backup.book_sums import Sums
from operator_admin.backup.needed_keys import NeededKeys

NAME, FORMAT = "manifest.json", 1
CHECKSUM = "checksum"  # of all that stands above it in the manifest


@dataclass(frozen=True, slots=True)
class FileEntry:
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    format: int
    release: str
    taken_at: str  # of the snapshot, ISO 8601 in UTC
    postgres: int  # the server's major version
    migrations: list[str]
    keys: NeededKeys
    sums: Sums
    files: dict[str, FileEntry]  # by path in the backup

    @classmethod
    def read(cls, directory: Path) -> "Manifest":
        """Raises BackupError when it is absent, damaged or of a format of the future."""
        path = directory / NAME
        try:
            content: dict[str, Any] = json.loads(path.read_bytes())
            checksum = content.pop(CHECKSUM)
        except FileNotFoundError:
            raise BackupError(
                f"{path} is missing: this is no backup, or one that was not finished."
            ) from None
        except (ValueError, KeyError, AttributeError, TypeError):
            raise BackupError(f"{path} is damaged: it cannot be read.") from None
        if checksum != _checksum(content):
            raise BackupError(f"{path} is damaged: its checksum differs.")
        if content["format"] != FORMAT:
            raise BackupError(
                f"{path} has format {content['format']}, made by release {content['release']}; "
                f"this release, {release()}, reads format {FORMAT}."
            )
        files = {name: FileEntry(**entry) for name, entry in content.pop("files").items()}
        return cls(**content, files=files)

    def write(self, directory: Path) -> None:
        content = asdict(self)
        text = json.dumps(content | {CHECKSUM: _checksum(content)}, ensure_ascii=False, indent=1)
        (directory / NAME).write_text(text + "\n", encoding="utf-8")

    def damages(self, directory: Path) -> Iterator[str]:
        """Files that are missing or differ, worded."""
        for name, entry in self.files.items():
            path = directory / name
            if not path.is_file():
                yield f"{name} is missing"
            elif path.stat().st_size != entry.size:
                yield f"{name} is damaged: {path.stat().st_size} bytes instead of {entry.size}"
            elif sha256(path) != entry.sha256:
                yield f"{name} is damaged: its SHA-256 differs"


def entries(directory: Path) -> dict[str, FileEntry]:
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return {
        str(path.relative_to(directory)): FileEntry(path.stat().st_size, sha256(path))
        for path in files
    }


@cache
def release() -> str:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["version"])


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _checksum(content: dict[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
