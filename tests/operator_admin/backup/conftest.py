"""An empty database to restore into, and a backup to damage."""

from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from shutil import copytree

import pytest
from django.core.management import call_command
from pytest_django import DjangoDbBlocker

from links.follow import change_feed
from tests.operator_admin.backup.copies import Copy, execute, url_of


@pytest.fixture(autouse=True)
def _no_reads_by_the_change_feed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An earlier test of this process may have started it; its session would not end."""
    monkeypatch.setattr(change_feed, "STOPS_REFRESH_INTERVAL", float("inf"))


@pytest.fixture
def copy(transactional_db: None) -> Iterator[Copy]:
    """An empty database."""
    execute("DROP DATABASE IF EXISTS kvitok_copy WITH (FORCE)")
    execute("CREATE DATABASE kvitok_copy TEMPLATE template0")
    yield Copy(url_of("kvitok_copy"))
    execute("DROP DATABASE kvitok_copy WITH (FORCE)")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "backup"


@pytest.fixture(scope="session")
def empty_backup(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A backup of tables without rows, made once."""
    directory = tmp_path_factory.mktemp("backups") / "empty"
    with django_db_blocker.unblock():
        take(directory)
    return directory


@pytest.fixture
def backup(empty_backup: Path, directory: Path) -> Path:
    """A backup to be damaged."""
    return copytree(empty_backup, directory)


def take(directory: Path) -> str:
    out = StringIO()
    call_command("backup", directory, stdout=out, stderr=out)
    return out.getvalue()
