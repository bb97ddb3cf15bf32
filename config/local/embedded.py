"""PostgreSQL and Redis for development and tests, unless the environment names others.

`python -m config.local.embedded -- COMMAND …` runs a command with temporary ones.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from config.local.demo_environment import is_set
from config.local.processes import LockedError, StartError, die_with_parent, lock
from config.local.server_account import account_for
from config.local.server_files import temporary_directory
from config.local.store_servers import Postgres, Redis, Server, stop_leftover


@dataclass(frozen=True)
class Servers:
    """The servers that DATABASE_URL and REDIS_URL do not already name."""

    directory: Path
    postgres: Postgres | None
    redis: Redis | None

    @classmethod
    def missing(
        cls,
        directory: Path,
        *,
        durable: bool,
        logs: Path,
        environ: Mapping[str, str] = os.environ,
        cluster: Path | None = None,
    ) -> "Servers":
        """The servers that `environ` does not name.

        `cluster`: a data directory of a stopped server, copied if there is none yet.
        """
        postgres = None
        redis = None
        if not is_set(environ, "DATABASE_URL"):
            log = logs / "postgres.log"
            postgres = Postgres(directory / "postgres", durable=durable, log=log, cluster=cluster)
        if not is_set(environ, "REDIS_URL"):
            redis = Redis(directory / "redis", durable=durable, log=logs / "redis.log")
        return cls(directory, postgres, redis)

    def __iter__(self) -> Iterator[Server]:
        return (server for server in (self.postgres, self.redis) if server is not None)

    def environ(self) -> dict[str, str]:
        """The environment variables with their addresses."""
        addresses = {}
        if self.postgres is not None:
            addresses["DATABASE_URL"] = self.postgres.url
        if self.redis is not None:
            addresses |= {"REDIS_URL": self.redis.url, "CELERY_BROKER_URL": self.redis.broker_url}
        return addresses


@contextmanager
def temporary(
    *,
    durable: bool = False,
    environ: Mapping[str, str] = os.environ,
    cluster: Path | None = None,
) -> Iterator[Servers]:
    """Servers whose data is deleted afterwards; `durable` keeps fsync and the AOF on.

    `cluster`: a data directory of a stopped server, which PostgreSQL starts with a copy of.
    """
    directory = temporary_directory(account_for())
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        stack.enter_context(_claim(directory))
        _sweep(directory.parent)
        servers = Servers.missing(
            directory, durable=durable, logs=directory, environ=environ, cluster=cluster
        )
        for server in servers:
            stack.callback(server.close)
            server.start()
        yield servers


def _claim(directory: Path) -> TextIO:
    # Locked before it gets its name, so no other process ever sees it unlocked.
    claim = lock(directory / "owner.new")
    (directory / "owner.new").rename(directory / "owner.lock")
    return claim


def _sweep(parent: Path) -> None:
    """Removes servers and directories left by killed runs."""
    for claim in parent.glob("kvitok-*/owner.lock"):
        directory = claim.parent
        if directory.is_symlink() or directory.stat().st_uid != os.geteuid():
            continue
        with suppress(LockedError, OSError), lock(claim):
            stop_leftover(Postgres, directory / "postgres")
            stop_leftover(Redis, directory / "redis")
            shutil.rmtree(directory)


def main(arguments: Sequence[str]) -> int:
    command = list(arguments[1:] if arguments[:1] == ["--"] else arguments)
    if not command:
        sys.stderr.write("usage: python -m config.local.embedded -- COMMAND …\n")
        return 2
    try:
        with temporary() as servers:
            return _run(command, os.environ | servers.environ())
    except (StartError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1


def _run(command: Sequence[str], environ: Mapping[str, str]) -> int:
    me = os.getpid()
    process = subprocess.Popen(  # noqa: S603 - the user's own command
        command,
        env=environ,
        preexec_fn=lambda: die_with_parent(signal.SIGTERM, me),  # noqa: PLW1509
    )
    # Ctrl-C reaches the command by itself; a signal sent only to us does not.
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda number, _frame: process.send_signal(number))
    code = process.wait()
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
