"""Servers of a test's own: one that archives its WAL, and one that recovers from the archive."""

import os
import subprocess
from pathlib import Path
from typing import Any

import psycopg

from config.environment.variables import ROOT
from config.local.store_servers import Postgres

ARCHIVE_WAL = ROOT / "deploy/postgres/archive-wal.sh"


class ArchivingPostgres(Postgres):
    """Archives by the script of `deploy/`, as an operator's server does."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, durable=True, log=directory.with_suffix(".log"))
        self.archive = self.directory / "archive"
        self.base = self.directory / "base"
        self._script = self.directory / ARCHIVE_WAL.name
        self._give(self.archive)
        # The checkout may be out of reach of the server's account.
        self._script.write_bytes(ARCHIVE_WAL.read_bytes())
        self._script.chmod(0o755)

    def command(self) -> list[str | Path]:
        archiving = f"archive_command={self._script} {self.archive} %p %f"
        return [*super().command(), "-c", "archive_mode=on", "-c", archiving]

    def base_backup(self, *options: str) -> None:
        """A copy of the running server's files, made by the account that runs it."""
        identity: dict[str, Any] = {}
        if self.account is not None:
            identity = {"user": self.account.uid, "group": self.account.gid, "extra_groups": []}
        program = self.programs.postgres / "pg_basebackup"
        subprocess.run(
            [
                program,
                f"--pgdata={self.base}",
                "--checkpoint=fast",
                f"--dbname={self.url}",
                *options,
            ],
            env=self._environment(),
            cwd="/",
            check=True,
            **identity,
        )

    def _give(self, directory: Path) -> None:
        directory.mkdir(exist_ok=True)
        if self.account is not None:
            os.chown(directory, self.account.uid, self.account.gid)


class RecoveringPostgres(Postgres):
    """Starts from a base backup and replays the archive up to a moment."""

    def __init__(self, source: ArchivingPostgres, *, until: str) -> None:
        directory = source.directory.with_name("recovered")
        super().__init__(directory, durable=True, log=directory.with_suffix(".log"))
        source.base.rename(self.data)
        (self.data / "recovery.signal").touch()
        settings = {
            "restore_command": f"cp {source.archive}/%f %p",
            "recovery_target_time": until,
            "recovery_target_action": "promote",
        }
        with (self.data / "postgresql.auto.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())


class StandbyPostgres(Postgres):
    """Follows another server, which answers a commit once this one has it, too."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, durable=True, log=directory.with_suffix(".log"))

    def follow(self, primary: ArchivingPostgres) -> None:
        primary.base_backup("--write-recovery-conf")
        primary.base.rename(self.data)
        self.start()
        with psycopg.connect(primary.url, autocommit=True) as session:
            session.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            session.execute("SELECT pg_reload_conf()")
            session.execute("SET synchronous_commit = on")
            session.execute("CREATE TABLE answered_once_the_standby_has_it ()")

    def is_ready(self) -> bool:
        try:
            lines = (self.directory / self.pid_file).read_text().split("\n")
        except OSError:
            return False
        is_ours = lines[0] == str(self.pid)
        return is_ours and "".join(lines[7:8]).strip() in {"standby", "ready"}
