"""A streaming replica of the tests' PostgreSQL, as a process of its own."""

from pathlib import Path

from config.local.store_servers import NAME, Postgres


class Standby(Postgres):
    """Copied from a running server by pg_basebackup; `url` is on this one's socket."""

    def __init__(self, primary: Postgres, directory: Path) -> None:
        super().__init__(directory, durable=False, log=directory.with_suffix(".log"))
        self.primary = primary

    def _initialise(self) -> None:
        self._run(
            "pg_basebackup",
            *("--pgdata", str(self.data), "--host", str(self.primary.sockets), "--username", NAME),
            *("--write-recovery-conf", "--wal-method", "stream", "--checkpoint", "fast"),
        )
