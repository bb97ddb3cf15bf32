"""The manifest of a backup: files, sums, and names of the keys it needs.

It never contains keys. A fingerprint detects another secret under the same id: a keyed digest of a
constant reveals nothing about a random key.
"""

import hashlib
import hmac
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from operator_admin.backup import BackupError
from operator_admin.doctor import key_rotation
from processes.monitoring.metrics import RELEASE
from storage.statements.queries import execute, fetch_column, fetch_tuples, fetch_value

# Partitions count with their table.
_TABLES = """
SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE nspname = 'public' AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY relname
"""
# Independent of row order and server version.
DIGEST = "COALESCE(sum(('x' || substr(md5(stored::text), 1, 15))::bit(60)::bigint), 0)"
_WALLETS = "SELECT COALESCE(sum(available), 0), COALESCE(sum(held), 0) FROM billing_wallet"
_TRANSFERS = "SELECT kind, count(*), sum(amount) FROM billing_transfer GROUP BY kind ORDER BY kind"
BOOKS = ("billing_order", "billing_payment", "billing_transfer", "billing_wallet")
AVAILABLE = "tokens available"
HELD = "tokens held"

Sums = dict[str, str]


def book_sums() -> Sums:
    """Row counts by table, sums of tokens in wallets and by kind of transfer, digests of the books.

    The caller's transaction must use one snapshot.
    """
    execute("SET LOCAL TimeZone = 'UTC'")
    tables = fetch_column(_TABLES)
    rows = {f"rows of {table}": _value("count(*)", table) for table in tables}
    digests = {f"digest of {table}": _value(DIGEST, table) for table in BOOKS}
    transfers = {f"tokens by {kind}": f"{n} × {sum_}" for kind, n, sum_ in fetch_tuples(_TRANSFERS)}
    return rows | digests | transfers | token_sums()


def token_sums() -> Sums:
    [(available, held)] = fetch_tuples(_WALLETS)
    return {AVAILABLE: str(available), HELD: str(held)}


def differences(expected: Sums, actual: Sums) -> list[str]:
    """The differences as text, including tables that exist on one side only."""
    return [
        f"{name}: {actual.get(name, 'absent')} instead of {expected.get(name, 'absent')}"
        for name in sorted(expected.keys() | actual.keys())
        if expected.get(name) != actual.get(name)
    ]


def _value(expression: str, table: str) -> str:
    return str(fetch_value(f"SELECT {expression} FROM {table} stored"))  # noqa: S608 - our names


NeededKeys = dict[str, dict[str, str]]  # setting → id of a key → its fingerprint

ABSENT = ""  # the fingerprint of a key that the settings lacked when the backup was made
CONSEQUENCES = {
    "MFA_KEYS": "nobody with a second factor could sign in, vendors of the admin could not be used",
    "WEBHOOK_KEYS": "webhooks could not be signed, nor erasures applied again",
}


def needed_keys() -> NeededKeys:
    uses = {setting: key_rotation.USES[setting][0]() for setting in CONSEQUENCES}
    return {
        setting: {key_id: _fingerprint(setting, key_id) for key_id in sorted(used) if key_id}
        for setting, used in uses.items()
    }


def missing_keys(needed: NeededKeys) -> list[str]:
    """The keys that the data needs and our settings lack, with the consequences."""
    return [
        f"{setting} {_key_fault(setting, key_id)} the key {key_id!r}: {CONSEQUENCES[setting]}"
        for setting, keys in needed.items()
        for key_id, fingerprint in keys.items()
        if not (fingerprint and hmac.compare_digest(fingerprint, _fingerprint(setting, key_id)))
    ]


def _key_fault(setting: str, key_id: str) -> str:
    return "has another secret for" if key_id in _ring(setting) else "lacks"


def _fingerprint(setting: str, key_id: str) -> str:
    secret = _ring(setting).get(key_id)
    if secret is None:
        return ABSENT
    return hmac.digest(secret, f"kvitok backup {setting}".encode(), hashlib.sha256)[:8].hex()


def _ring(setting: str) -> dict[str, bytes]:
    ring: dict[str, bytes] = getattr(settings, setting)
    return ring


NAME = "manifest.json"
FORMAT = 1
CHECKSUM = "checksum"  # of the rest of the manifest


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
        """The manifest of a backup; raises BackupError if it is missing or unreadable."""
        path = directory / NAME
        try:
            content: dict[str, Any] = json.loads(path.read_bytes())
            checksum = content.pop(CHECKSUM)
        except FileNotFoundError:
            raise BackupError(
                f"{path} is missing: this is not a backup, or it is unfinished."
            ) from None
        except (ValueError, KeyError, AttributeError, TypeError):
            raise BackupError(f"{path} is damaged: it cannot be read.") from None
        if checksum != _checksum(content):
            raise BackupError(f"{path} is damaged: its checksum differs.")
        if content["format"] != FORMAT:
            raise BackupError(
                f"{path} has format {content['format']}, made by release {content['release']}; "
                f"this release, {RELEASE}, reads format {FORMAT}."
            )
        files = {name: FileEntry(**entry) for name, entry in content.pop("files").items()}
        return cls(**content, files=files)

    def write(self, directory: Path) -> None:
        content = asdict(self)
        text = json.dumps(content | {CHECKSUM: _checksum(content)}, ensure_ascii=False, indent=1)
        (directory / NAME).write_text(text + "\n", encoding="utf-8")

    def damages(self, directory: Path) -> Iterator[str]:
        """Files that are missing or differ, as text."""
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


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _checksum(content: dict[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
