"""Second databases on the test's server, and commands run against them as an operator would."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import psycopg
from django.db import connection
from psycopg.conninfo import conninfo_to_dict

from config.environment.variables import ROOT
from operator_admin.backup import postgres
from tests.factories import IssuedKey
from tests.stack.programs import wait_until


def url_of(database: str) -> str:
    """Returns a DATABASE_URL on the server of the tests."""
    params = connection.get_connection_params()
    where = {name: params[name] for name in ("host", "port") if params.get(name)}
    user = quote(str(params["user"]))
    return f"postgresql://{user}@/{database}?{urlencode(where)}"


@dataclass(frozen=True)
class Copy:
    """A database that a backup is restored into."""

    url: str

    @property
    def name(self) -> str:
        return str(conninfo_to_dict(self.url)["dbname"])

    def execute(self, statement: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as session:
            session.execute(statement)

    def query(self, statement: str) -> list[Any]:
        """Returns the rows; of a single column its values."""
        with psycopg.connect(self.url, autocommit=True) as session:
            rows = session.execute(statement).fetchall()
        return [row[0] if len(row) == 1 else row for row in rows]

    def manage(self, *arguments: str | Path, **environ: str) -> subprocess.CompletedProcess[str]:
        """Runs `manage.py` on this database, in its own process."""
        return subprocess.run(
            [sys.executable, "manage.py", *map(str, arguments)],
            cwd=ROOT,
            env=os.environ | {"DATABASE_URL": self.url} | environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=90,
        )

    @contextmanager
    def sending(self, key: IssuedKey, accepted: Path = Path(os.devnull)) -> Iterator[None]:
        """Meanwhile another process sends codes with this key, until the end of the block.

        The file gets the ids of those that were accepted.
        """
        environ = {
            "DATABASE_URL": self.url,
            "API_KEY": key.plaintext,
            "SEND_WAIT": "0",
            "DJANGO_SETTINGS_MODULE": "config.settings",
        }
        with accepted.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.operator_admin.backup.sending", str(key.company_id)],
                cwd=ROOT,
                env=os.environ | environ,
                stdout=output,
            )
        try:
            wait_until(lambda: self.count_messages() > 20, 60)
            yield
            assert process.poll() is None
        finally:
            process.kill()
            process.wait()

    def count_messages(self) -> int:
        return int(self.query("SELECT count(*) FROM channels_message")[0])


def execute(statement: str) -> None:
    """Executes on the server, outside any transaction."""
    with psycopg.connect(url_of("postgres"), autocommit=True) as session:
        session.execute(statement)


def load(directory: Path, copy: Copy) -> None:
    """Loads only the backup's dump, by PostgreSQL's own program."""
    program = postgres.find_program("pg_restore", server=postgres.server_version())
    dump = directory / "dump"
    subprocess.run([program, f"--dbname={copy.url}", "--no-owner", dump], check=True)
