"""Second databases on the test's server, and commands run against them as an operator would."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import psycopg
from django.db import connection

from config.environment.variables import ROOT


def url_of(database: str) -> str:
    """A DATABASE_URL on the server of the tests."""
    params = connection.get_connection_params()
    where = {name: params[name] for name in ("host", "port") if params.get(name)}
    user = quote(str(params["user"]))
    return f"postgresql://{user}@/{database}?{urlencode(where)}"


@dataclass(frozen=True)
class Copy:
    """A database that a backup is restored into."""

    name: str

    @property
    def url(self) -> str:
        return url_of(self.name)

    def execute(self, statement: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as session:
            session.execute(statement)

    def query(self, statement: str) -> list[Any]:
        """The rows; the first column where there is one only."""
        with psycopg.connect(self.url, autocommit=True) as session:
            rows = session.execute(statement).fetchall()
        return [row[0] if len(row) == 1 else row for row in rows]

    def manage(self, *arguments: str | Path, **environ: str) -> subprocess.CompletedProcess[str]:
        """`manage.py` in a process of its own, on this database."""
        return subprocess.run(
            [sys.executable, "manage.py", *map(str, arguments)],
            cwd=ROOT,
            env=os.environ | {"DATABASE_URL": self.url} | environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=90,
        )


def execute(statement: str) -> None:
    """On the server, outside any transaction."""
    with psycopg.connect(url_of("postgres"), autocommit=True) as session:
        session.execute(statement)
