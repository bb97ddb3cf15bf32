"""For migrations: installs functions and triggers from the `.sql` files beside their users."""

from hashlib import sha256
from pathlib import Path

from django.db.migrations import RunSQL

_ROOT = Path(__file__).resolve().parents[2]


class RunSqlFile(RunSQL):
    """Runs a file that may run again: it creates or replaces.

    `digest` is the file's, as `digest_of` has it, when the migration was written. An edited file
    needs a new migration that runs it again; a test compares the newest one's digest.
    """

    def __init__(self, path: str, digest: str) -> None:
        self.path, self.digest = path, digest
        super().__init__((_ROOT / path).read_text(encoding="utf-8"), RunSQL.noop)

    def deconstruct(self) -> tuple[str, list[str], dict[str, str]]:
        return type(self).__qualname__, [], {"path": self.path, "digest": self.digest}


def digest_of(path: str) -> str:
    return sha256((_ROOT / path).read_bytes()).hexdigest()[:16]
