"""The manifest of an archived month: its files, and the sums that prove them."""

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from operator_admin.archive import ArchiveError
from operator_admin.backup.manifest import release

NAME, FORMAT = "manifest.json", 1


@dataclass(frozen=True, slots=True)
class ArchivedFile:
    rows: int
    size: int
    sha256: str
    columns: list[str]
    left_out: list[str]  # for they are about persons


@dataclass(frozen=True, slots=True)
class CompanySum:
    company: int
    kind: str
    transfers: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Manifest:
    format: int
    release: str
    month: str
    files: dict[str, ArchivedFile]
    sums: list[CompanySum]  # of billing_transfer.parquet

    def write(self, directory: Path) -> str:
        """Returns the SHA-256 of what is on the disk then."""
        text = json.dumps(asdict(self), ensure_ascii=False, indent=1) + "\n"
        with (directory / NAME).open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        return hashlib.sha256(text.encode()).hexdigest()

    @classmethod
    def read(cls, directory: Path) -> "tuple[Manifest, str]":
        """The manifest, and its SHA-256; raises ArchiveError."""
        try:
            content = (directory / NAME).read_bytes()
            fields = json.loads(content)
            if fields["format"] != FORMAT:
                raise ArchiveError(
                    f"{directory} has format {fields['format']}; this release, {release()}, reads "
                    f"format {FORMAT}"
                )
            files = {name: ArchivedFile(**one) for name, one in fields.pop("files").items()}
            sums = [CompanySum(**one) for one in fields.pop("sums")]
            manifest = cls(**fields, files=files, sums=sums)
        except OSError as error:
            raise ArchiveError(f"{directory / NAME}: {error.strerror}") from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ArchiveError(f"{directory / NAME} is damaged: it cannot be read") from None
        return manifest, hashlib.sha256(content).hexdigest()
