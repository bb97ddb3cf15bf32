"""Backups that are refused, and databases that no backup is restored into."""

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path
from threading import Timer

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from config.local.demo_environment import new_secrets
from operator_admin.backup import BackupError, dumps, postgres
from operator_admin.backup.manifest import Manifest
from operator_admin.backup.postgres import session_without_timeouts
from tests.api.clients import Api
from tests.factories import EndpointFactory
from tests.operator_admin.backup.conftest import take
from tests.operator_admin.backup.copies import Copy, url_of
from tests.sql import execute

pytestmark = pytest.mark.django_db(transaction=True)

PRECIOUS = "SELECT count(*) FROM pg_class WHERE relname = 'precious'"


def refusal(directory: Path, **options: object) -> str:
    """The refusal of `restore`, in the process of the test: none of them changes anything."""
    with pytest.raises(CommandError) as refused:
        call_command("restore", directory, stdout=StringIO(), **options)
    return str(refused.value)


def largest(directory: Path) -> Path:
    return max((directory / "dump").glob("*.dat*"), key=lambda path: path.stat().st_size)


def flip_a_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (flip_a_byte, "is damaged: its SHA-256 differs"),
        (cut, "bytes instead of"),
        (Path.unlink, "is missing"),
    ],
)
def test_file_that_is_not_whole(backup: Path, damage: Callable[[Path], None], text: str) -> None:
    victim = largest(backup)
    damage(victim)

    said = refusal(backup)

    assert f"dump/{victim.name}" in said
    assert text in said


def test_manifest_that_is_missing(tmp_path: Path) -> None:
    assert "manifest.json is missing" in refusal(tmp_path)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"checksum": "00"}'])
def test_invalid_manifest_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)

    assert "manifest.json is damaged" in refusal(tmp_path)


def test_manifest_that_was_edited(backup: Path) -> None:
    path = backup / "manifest.json"
    content = json.loads(path.read_text())
    content["release"] = "9.9.9"
    path.write_text(json.dumps(content))

    assert "its checksum differs" in refusal(backup)


def test_backup_of_a_newer_release(backup: Path) -> None:
    manifest = Manifest.read(backup)
    newer = replace(manifest, release="9.9.9", migrations=["otp.0999_later"])
    newer.write(backup)

    said = refusal(backup)

    assert "release 9.9.9, which has migrations that this release" in said
    assert "otp.0999_later" in said


def test_backup_of_a_newer_server_is_refused(backup: Path) -> None:
    replace(Manifest.read(backup), postgres=99).write(backup)

    assert "The backup is of PostgreSQL 99, and the server is" in refusal(backup)


def test_missing_keys_are_named(api: Api, directory: Path, copy: Copy) -> None:
    EndpointFactory.create(company=api.company)
    take(directory)
    others = new_secrets()["WEBHOOK_KEYS"]
    key_id, secret = others.split(":", 1)

    lacking = copy.manage("restore", directory, WEBHOOK_KEYS=f"other:{secret}")
    replaced = copy.manage("restore", directory, WEBHOOK_KEYS=f"{key_id}:{secret}")

    assert f"WEBHOOK_KEYS lacks the key '{key_id}': webhooks could not be signed" in lacking.stderr
    assert f"WEBHOOK_KEYS has another secret for the key '{key_id}'" in replaced.stderr
    assert copy.query("SELECT count(*) FROM pg_class WHERE relname = 'webhooks_endpoint'") == [0]


def test_manifest_holds_no_secret(api: Api, directory: Path) -> None:
    EndpointFactory.create(company=api.company)

    take(directory)

    text = (directory / "manifest.json").read_text()
    for name in ("SECRET_KEY", "OTP_KEYS", "WEBHOOK_KEYS"):
        assert os.environ[name].rpartition(":")[2] not in text


def test_database_that_is_not_empty(backup: Path) -> None:
    assert "is not empty: create a new one" in refusal(backup)


def test_database_that_others_use(backup: Path) -> None:
    params = connection.get_connection_params()
    with psycopg.connect(host=params["host"], user=params["user"], dbname=params["dbname"]):
        said = refusal(backup, replace=True, confirm=params["dbname"])

    assert "Others are connected to the database" in said


def test_session_that_is_just_ending_is_waited_for(backup: Path) -> None:
    params = connection.get_connection_params()
    last = psycopg.connect(host=params["host"], user=params["user"], dbname=params["dbname"])
    ending = Timer(1.0, last.close)
    ending.start()

    with session_without_timeouts():
        dumps.require_no_sessions()

    ending.join()
    assert last.closed


def test_database_is_replaced_only_once_its_name_is_confirmed(backup: Path, copy: Copy) -> None:
    copy.execute("CREATE TABLE precious ()")

    doubtful = copy.manage("restore", backup, "--replace", "--confirm", "another")

    assert "Not confirmed: nothing was changed." in doubtful.stderr
    assert copy.query(PRECIOUS) == [1]

    certain = copy.manage("restore", backup, "--replace", "--confirm", copy.name)

    assert certain.returncode == 0, certain.stdout + certain.stderr
    assert copy.query(PRECIOUS) == [0]


def test_list_of_erasures_that_is_not_utf_8(backup: Path, tmp_path: Path) -> None:
    path = tmp_path / "erasures"
    path.write_bytes(b"\xff")

    assert f"{path}: 'utf-8' codec" in refusal(backup, prove=True, erasures=path)


def test_existing_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="exists: name a new directory"):
        call_command("backup", tmp_path)


@pytest.mark.parametrize("command", ["backup", "restore"])
@pytest.mark.parametrize("jobs", ["0", "-1", "33"])
def test_number_of_jobs_is_checked_first(tmp_path: Path, command: str, jobs: str) -> None:
    """pg_restore would refuse it only after the database was emptied."""
    with pytest.raises(CommandError, match="invalid choice"):
        call_command(command, str(tmp_path / "new"), f"--jobs={jobs}")

    assert not (tmp_path / "new").exists()


def test_programs_older_than_the_server_are_refused(tmp_path: Path) -> None:
    old = tmp_path / "pg_dump"
    old.write_text("#!/bin/sh\necho 'pg_dump (PostgreSQL) 9.6.24'\n")
    old.chmod(0o755)

    with pytest.raises(BackupError, match=r"\(found: 9\). Install postgresql-client-18"):
        postgres.find_program("pg_dump", server=18, folder=tmp_path)


@pytest.fixture
def reader() -> Iterator[Copy]:
    """The database of the test, as a role that may do nothing yet."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE kvitok_backup LOGIN")
        url = url_of(connection.settings_dict["NAME"])
        yield Copy(re.sub(r"//[^@]*@", "//kvitok_backup@", url))
        cursor.execute("DROP ROLE kvitok_backup")


def test_backup_by_a_role_that_may_not_read_everything(reader: Copy, directory: Path) -> None:
    refused = reader.manage("backup", directory)
    execute("GRANT pg_read_all_data TO kvitok_backup")
    done = reader.manage("backup", directory)

    assert refused.returncode == 1
    assert "kvitok_backup may not read account_emailaddress: take the backup as" in refused.stderr
    assert done.returncode == 0, done.stderr
