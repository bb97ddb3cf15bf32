"""An old month becomes a file; the books stay right, and it holds no personal data."""

import subprocess
import sys
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError
from django.db import connection, models
from django.db.models import F

from accounts import purges
from billing.models import ArchivedMonth, ArchivedSum, Transfer
from billing.wallet import archived, ledger
from channels.models import Attempt, FallbackEvent, Message
from operator_admin.backup import postgres
from otp.models import Verification
from persons.erasure import erase
from persons.person import Person
from storage.months.calendar import next_month
from storage.months.old_months import is_attached
from tests.api.clients import Api
from tests.operator_admin.archive.commands import archive, breaches
from tests.operator_admin.backup.conftest import take
from tests.operator_admin.backup.copies import url_of
from tests.persons.traces import PHONE, create_all_data
from tests.sql import execute

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_database")]
ARCHIVED: tuple[type[models.Model], ...] = (Message, Attempt, Verification, FallbackEvent, Transfer)


def text_of(path: Path) -> str:
    """Returns the SQL that `pg_restore` would run."""
    server = postgres.server_version()
    program = postgres.find_program("pg_restore", server=server)
    done = subprocess.run([program, "--file=-", path], check=True, capture_output=True, text=True)
    return done.stdout


def count(relation: str) -> int:
    rows = execute(f"SELECT count(*) FROM {relation}")  # noqa: S608
    return int(rows[0][0])


def test_month_becomes_a_file_and_the_books_stay_right(
    history: Api, month: date, directory: Path
) -> None:
    balance = ledger.balance(history.company.pk)
    rows = {model._meta.db_table: model._default_manager.count() for model in ARCHIVED}
    rows["billing_transfer"] -= 1  # the grant

    said = archive(directory)

    path = directory / f"{month:%Y-%m}.dump"
    assert said == f"{month:%Y-%m}: {path}\n"
    assert list(directory.iterdir()) == [path]
    assert path.stat().st_mode & 0o777 == 0o600
    assert not Message.objects.exists()
    assert not FallbackEvent.objects.exists()
    assert list(Transfer.objects.values_list("kind", flat=True)) == ["grant"]
    assert is_attached("channels_message", month) is None
    assert ledger.balance(history.company.pk) == balance
    assert breaches() == []
    assert archived.first_kept_day() == next_month(month)
    assert archive(directory, "--verify").startswith("Every archive is intact")
    schema = f"archive_{month:%Y_%m}"
    assert archive(directory, "--restore", path) == f"{path}: restored into the schema {schema}\n"
    assert {table: count(f"{schema}.{table}") for table in rows} == rows


def test_dump_of_an_erased_persons_month_does_not_have_the_phone(
    history: Api, month: date, directory: Path
) -> None:
    create_all_data(history.company)
    erase(person=Person(PHONE))
    purges.purge()

    archive(directory)

    text = text_of(directory / f"{month:%Y-%m}.dump")
    assert "+7916*" in text
    assert PHONE.removeprefix("+") not in text


def test_dump_has_nothing_about_persons_who_were_not_erased(
    history: Api, month: date, directory: Path
) -> None:
    Message.objects.update(params={"text": f"Dear {PHONE}"})
    Attempt.objects.update(error_detail=f"not {PHONE}")
    execute(f"UPDATE channels_attempt SET provider_id = '{PHONE}-' || id")  # noqa: S608

    archive(directory)

    text = text_of(directory / f"{month:%Y-%m}.dump")
    assert "+7916*" in text
    assert PHONE.removeprefix("+") not in text
    for column in ("params", "provider_id", "error_detail", "mac"):
        assert f"    {column} " not in text


def test_run_that_was_interrupted_is_finished_by_the_next(
    history: Api, month: date, directory: Path
) -> None:
    in_the_way = directory / f"{month:%Y-%m}.partial"
    in_the_way.mkdir()
    with pytest.raises(CommandError, match="Is a directory"):
        archive(directory)
    assert is_attached("channels_message", month) is False
    assert breaches() == []
    in_the_way.rmdir()
    in_the_way.touch()  # of a run that was killed

    archive(directory)

    assert is_attached("channels_message", month) is None
    assert breaches() == []
    assert archive(directory) == ""


def test_run_killed_before_renaming_is_finished(history: Api, month: date, directory: Path) -> None:
    archive(directory)
    path = directory / f"{month:%Y-%m}.dump"
    path.rename(path.with_suffix(".partial"))
    ArchivedMonth.objects.update(dropped_at=None)

    archive(directory)

    assert path.exists()
    assert ArchivedMonth.objects.exclude(dropped_at=None).exists()


def test_tables_are_not_dropped_without_their_file(
    history: Api, month: date, directory: Path
) -> None:
    archive(directory)
    (directory / f"{month:%Y-%m}.dump").write_bytes(b"another")
    ArchivedMonth.objects.update(dropped_at=None)

    with pytest.raises(CommandError, match="is damaged: its SHA-256 differs"):
        archive(directory)

    assert ArchivedMonth.objects.filter(dropped_at=None).exists()


def test_file_of_the_same_month_is_not_replaced(history: Api, month: date, directory: Path) -> None:
    path = directory / f"{month:%Y-%m}.dump"
    path.write_bytes(b"of another database")

    with pytest.raises(CommandError, match="is there already: move it away"):
        archive(directory)

    assert path.read_bytes() == b"of another database"
    assert is_attached("channels_message", month) is False


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """PostgreSQL's programs; `pg_dump` runs the script `after` when it is done."""
    server = postgres.server_version()
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "pg_restore").symlink_to(postgres.find_program("pg_restore", server=server))
    real = postgres.find_program("pg_dump", server=server)
    after = f'case "$*" in *--file=*) exec {folder}/after "$@";; esac'
    executable(folder / "pg_dump", f'#!/bin/sh\n{real} "$@" || exit 1\n{after}\n')
    return folder


def executable(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o700)


def test_file_that_differs_from_the_tables_is_refused(
    history: Api, month: date, directory: Path, programs: Path
) -> None:
    url = url_of(connection.settings_dict["NAME"])
    change = f"UPDATE channels_message_{month:%Y_%m} SET locale = 'xx'"  # noqa: S608
    script = f"import psycopg\nwith psycopg.connect({url!r}) as one: one.execute({change!r})\n"
    executable(programs / "after", f"#!{sys.executable}\n{script}")

    with pytest.raises(CommandError, match=r"differs from the tables in channels_message$"):
        archive(directory, "--programs", programs, *before(month))

    assert is_attached("channels_message", month) is False


def test_file_that_cannot_be_restored_is_refused(
    history: Api, month: date, directory: Path, programs: Path
) -> None:
    executable(programs / "after", f"#!/bin/sh\n: > {directory}/{month:%Y-%m}.partial\n")

    with pytest.raises(CommandError, match="pg_restore failed"):
        archive(directory, "--programs", programs, *before(month))

    assert is_attached("channels_message", month) is False


def before(month: date) -> tuple[str, str]:
    return "--before", f"{next_month(month):%Y-%m}"


def test_transfers_that_are_not_those_sealed_are_refused(
    history: Api, month: date, directory: Path
) -> None:
    execute("ALTER TABLE billing_transfer DISABLE TRIGGER ALL")
    execute("UPDATE billing_transfer SET reason = 'forged' WHERE kind = 'release'")

    with pytest.raises(CommandError, match=r"company \d+ on .* are not those that were sealed"):
        archive(directory)

    assert is_attached("billing_transfer", month) is False


def test_damaged_file_is_found(history: Api, month: date, directory: Path) -> None:
    archive(directory)
    path = directory / f"{month:%Y-%m}.dump"
    path.write_bytes(path.read_bytes()[:-1])

    with pytest.raises(CommandError, match="1 archives are damaged"):
        archive(directory, "--verify")
    with pytest.raises(CommandError, match="is not an archive recorded in this database"):
        archive(directory, "--restore", path)


def of(kind: str) -> "models.QuerySet[ArchivedSum]":
    return ArchivedSum.objects.filter(kind=kind)


@pytest.mark.parametrize(
    "change",
    [
        lambda: [of(kind).update(tokens=F("tokens") + 9) for kind in ("hold", "release")],
        lambda: [
            of(kind).update(transfers=F("transfers") + more)
            for kind, more in {"capture": 1, "release": -1}.items()
        ],
        lambda: ArchivedSum.objects.update(last_at=F("last_at") + timedelta(microseconds=1)),
    ],
    ids=["hold and release", "numbers", "time"],
)
def test_archive_verification_finds_unsealed_changes(
    history: Api, directory: Path, change: Callable[[], object]
) -> None:
    archive(directory)
    change()
    assert breaches() == []

    with pytest.raises(CommandError, match="1 archives are damaged"):
        archive(directory, "--verify")


def test_restored_month_is_private_and_not_backed_up(
    history: Api, month: date, directory: Path, tmp_path: Path
) -> None:
    archive(directory)
    path = directory / f"{month:%Y-%m}.dump"
    archive(directory, "--restore", path)
    schema = f"archive_{month:%Y_%m}"

    take(tmp_path / "backup")

    assert schema not in text_of(tmp_path / "backup" / "dump")
    rows = execute("SELECT has_schema_privilege('pg_monitor', %s, 'USAGE')", [schema])
    assert rows[0] == (False,)
    with pytest.raises(CommandError, match=f'schema "{schema}" already exists'):
        archive(directory, "--restore", path)
    execute(f"DROP SCHEMA {schema} CASCADE")
    assert archive(directory, "--verify").startswith("Every archive is intact")
