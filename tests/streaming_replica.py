"""A streaming replica of the tests' PostgreSQL, as a process of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dj_database_url
import pytest
from django.db import connections

from config.environment.stores import replica_of
from config.local.embedded import Servers
from config.local.server_files import account_for, temporary_directory
from config.local.store_servers import NAME, Postgres
from config.storage import replica


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


@contextmanager
def standby_of(servers: Servers) -> Iterator[Standby]:
    if servers.postgres is None:
        pytest.skip("the database is not ours to copy")
    one = Standby(servers.postgres, temporary_directory(account_for()) / "standby")
    one.start()
    yield one
    one.close()


@contextmanager
def replica_in_settings(url: str) -> Iterator[None]:
    """As DATABASE_REPLICA_URL, with the name of the tests' database."""
    with pytest.MonkeyPatch.context() as patch:
        own = connections.settings["default"]
        ours = replica_of(dict(dj_database_url.parse(url)) | {"NAME": own["NAME"]})
        ours["TEST"] = own["TEST"] | ours["TEST"]
        patch.setitem(connections.settings, replica.ALIAS, own | ours)
        yield
        # The thread would keep it, and lead the next module to this one's server.
        connections[replica.ALIAS].close()
        connections[replica.ALIAS].close_pool()  # type: ignore[attr-defined]
        del connections[replica.ALIAS]
