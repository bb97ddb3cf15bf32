"""A PostgreSQL cluster with every migration applied, made once and copied by every run.

Each worker of each run would otherwise spend 20 s of a core on the same migrations. A test database
is still migrated after it was copied, so what the copy lacks is added.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from config.environment.variables import ROOT
from config.local.embedded import temporary

DATABASE = "migrated"  # in the cluster; Django creates its test databases from it
TEMPLATE_VARIABLE = "TEST_TEMPLATE"  # names it to runs on a server that somebody else started
# What a migration does depends on these, and on the month, for which it makes partitions.
_SOURCES = (
    "*/migrations/*.py",
    "storage/**/*.py",
    "*/**/*.sql",
    "catalogue/channels.py",
    "catalogue/ids.py",
    "requirements/base.txt",
    "requirements/dev.txt",
)


def migrated_cluster(environ: Mapping[str, str]) -> Path:
    """The data directory to copy; raises StartError, OSError or CalledProcessError."""
    folder = ROOT / "var" / "tests"
    result = folder / f"cluster-{_digest()}"
    if not result.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("cluster-*"):
            shutil.rmtree(old, ignore_errors=True)
        _make(result, environ)
    return result


def _make(wanted: Path, environ: Mapping[str, str]) -> None:
    with temporary(environ={"REDIS_URL": "none is needed"}) as servers:
        postgres = servers.postgres
        assert postgres is not None
        with psycopg.connect(postgres.url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {DATABASE}")
        url = urlsplit(postgres.url)._replace(path=f"/{DATABASE}").geturl()
        subprocess.run(
            [sys.executable, "manage.py", "migrate", "--noinput", "--verbosity", "0"],
            cwd=ROOT,
            env={**os.environ, **environ, "DATABASE_URL": url},
            check=True,
        )
        postgres.stop()
        # Built elsewhere and renamed: a run that is interrupted here leaves no half of a cluster.
        with tempfile.TemporaryDirectory(dir=wanted.parent) as directory:
            shutil.copytree(postgres.data, new := Path(directory) / "cluster")
            with suppress(OSError):  # another run was faster
                new.rename(wanted)


def _digest() -> str:
    digest = hashlib.sha256(f"{datetime.now(UTC):%Y-%m}".encode())
    for path in _files():
        digest.update(os.fsencode(path.relative_to(ROOT)))
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _files() -> Iterator[Path]:
    for pattern in _SOURCES:
        yield from sorted(ROOT.glob(pattern))
