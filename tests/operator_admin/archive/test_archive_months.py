"""Old months become files; the books stay right, and nobody's data goes along."""

import json
import time
from datetime import UTC, date, datetime, timedelta
from io import StringIO
from pathlib import Path

import pytest
import time_machine
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import ProgrammingError, connection, transaction
from django.utils import timezone
from pyarrow import parquet
from pytest_django import Settings

from accounts.models import Event
from billing.models import ArchivedMonth, Transfer
from billing.wallet import archived, ledger
from channels.models import Attempt, FallbackEvent, Message
from config.environment.variables import zero_or_at_least
from config.storage.months.calendar import next_month
from config.storage.months.closed_months import is_attached, newest_to_archive
from operator_admin.doctor import stores
from operator_admin.management.commands import archive_months
from otp.models import Verification
from tests.api.clients import Api
from tests.channels.message_stages import send
from tests.factories import EventFactory
from tests.operator_admin.archive.commands import archive, breaches

pytestmark = pytest.mark.django_db
PHONE = "+79161234567"


def test_month_becomes_files_and_the_books_stay_right(
    history: Api, month: date, directory: Path
) -> None:
    balance = ledger.balance(history.company.pk)
    rows = {
        model._meta.db_table: model._default_manager.count()
        for model in (Message, Attempt, Verification, FallbackEvent)
    }
    rows["billing_transfer"] = Transfer.objects.exclude(message_id=None).count()

    said = archive(directory)

    place = directory / f"{month:%Y-%m}"
    assert said == f"{month:%Y-%m}: {place}\n"
    assert {
        path.stem: parquet.read_metadata(path).num_rows for path in place.glob("*.parquet")
    } == rows
    assert not Message.objects.exists()
    assert not FallbackEvent.objects.exists()
    assert list(Transfer.objects.values_list("kind", flat=True)) == ["grant"]
    assert is_attached("channels_message", month) is None
    assert ledger.balance(history.company.pk) == balance
    assert breaches() == []
    assert archived.kept_since() == next_month(month)
    assert archive(directory, "--verify").startswith("Every archive is whole")


def test_archive_has_nothing_about_persons(history: Api, month: date, directory: Path) -> None:
    archive(directory)

    place = directory / f"{month:%Y-%m}"
    columns = {path.stem: set(parquet.read_schema(path).names) for path in place.glob("*.parquet")}
    phones = parquet.read_table(place / "channels_message.parquet")["phone"].to_pylist()
    manifest = json.loads((place / "manifest.json").read_text())
    assert set(phones) == {"+7916*"}
    assert "params" not in columns["channels_message"]
    assert not columns["channels_attempt"] & {"provider_id", "error_detail"}
    assert "mac" not in columns["otp_verification"]
    assert manifest["files"]["channels_message.parquet"]["left_out"] == ["params"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda: Message.objects.update(phone=PHONE), "3 messages with a phone, which the hourly"),
        (lambda: Verification.objects.update(phone=PHONE), "3 codes with a phone, which the hour"),
        (lambda: Message.objects.update(is_owed=True), "3 open messages"),
        (lambda: Attempt.objects.update(state="submitting"), "3 attempts under way"),
        (
            lambda: Attempt.objects.filter(state="delivered").update(state="failed"),
            "1 breaches: charged without proof",
        ),
        (EventFactory.create, "1 events, which the hourly purge removes after -1 days"),
    ],
)
def test_month_that_may_still_change_stays(
    history: Api, month: date, directory: Path, change: object, reason: str
) -> None:
    assert callable(change)
    change()

    with pytest.raises(CommandError, match=rf"{month:%Y-%m} stays: .*{reason}"):
        archive(directory)

    assert is_attached("channels_message", month)
    assert not ArchivedMonth.objects.exists()


def test_hold_that_nobody_settled_keeps_its_month(
    history: Api, month: date, directory: Path
) -> None:
    message = send(history, "+79161234599")
    Message.objects.filter(pk=message.pk).update(state="expired", due_at=None, phone="+7916*")
    Verification.objects.update(phone="+7916*")
    Event.objects.all().delete()

    with pytest.raises(CommandError, match="stays: 1 holds that are not settled"):
        archive(directory)


def test_run_that_was_interrupted_is_finished_by_the_next(
    history: Api, month: date, directory: Path
) -> None:
    in_the_way = directory / f"{month:%Y-%m}.partial"
    in_the_way.touch()
    with pytest.raises(CommandError, match="File exists"):
        archive(directory)
    assert is_attached("channels_message", month) is False
    assert breaches() == []
    in_the_way.unlink()

    archive(directory)

    assert is_attached("channels_message", month) is None
    assert breaches() == []
    assert archive(directory) == ""


def test_files_that_differ_from_the_tables_are_refused(
    history: Api, month: date, directory: Path
) -> None:
    (directory / f"{month:%Y-%m}").mkdir()
    with pytest.raises(CommandError, match=r"manifest.json: No such file"):
        archive(directory)
    (directory / f"{month:%Y-%m}").rmdir()
    (directory / f"{month:%Y-%m}.partial").touch()
    with pytest.raises(CommandError):
        archive(directory)
    (directory / f"{month:%Y-%m}.partial").unlink()
    with transaction.atomic():
        archive(directory)
        transaction.set_rollback(True)
    with connection.cursor() as cursor:  # the files are there, the tables are again
        cursor.execute(f"UPDATE channels_message_{month:%Y_%m} SET locale = 'xx'")  # noqa: S608

    with pytest.raises(CommandError, match=r"channels_message.parquet differs from"):
        archive(directory)

    assert is_attached("channels_message", month) is False


def test_damaged_archive_is_found(history: Api, month: date, directory: Path) -> None:
    archive(directory)
    path = directory / f"{month:%Y-%m}" / "channels_attempt.parquet"
    path.write_bytes(path.read_bytes()[:-1])

    with pytest.raises(CommandError, match="1 archives are not whole"):
        archive(directory, "--verify")


def test_manifest_of_another_archive_is_found(history: Api, month: date, directory: Path) -> None:
    archive(directory)
    path = directory / f"{month:%Y-%m}" / "manifest.json"
    path.write_text(path.read_text().replace('"format"', ' "format"'))

    with pytest.raises(CommandError, match="1 archives are not whole"):
        archive(directory, "--verify")


def test_before_names_a_month_in_every_time_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        newest = archive_months._newest("2025-06")
    finally:
        monkeypatch.undo()
        time.tzset()

    assert newest == date(2025, 5, 1)


def test_month_younger_than_late_receipts_is_refused(directory: Path) -> None:
    with pytest.raises(CommandError, match="may still change"):
        archive(directory, "--before", f"{timezone.now():%Y-%m}", days=0)


def test_everything_is_kept_unless_set(history: Api, directory: Path) -> None:
    assert archive(directory, "--verbosity=1") == ""
    assert Message.objects.count() == 3


def test_dry_run_changes_nothing(
    history: Api, month: date, directory: Path, settings: Settings
) -> None:
    settings.MESSAGES_KEPT_MONTHS = 4

    said = archive(directory, "--dry-run").splitlines()

    assert said[0].startswith(f"{month:%Y-%m}, ")
    assert said[0].endswith(" MB: can be archived")
    assert not ArchivedMonth.objects.exists()
    assert list(directory.iterdir()) == []


def test_setting_counts_whole_months() -> None:
    now = datetime(2026, 11, 23, tzinfo=UTC)

    assert newest_to_archive(4, now) == date(2026, 6, 1)


def test_application_can_neither_archive_nor_reach_a_detached_month(
    history: Api, month: date, directory: Path
) -> None:
    (directory / f"{month:%Y-%m}.partial").touch()
    with pytest.raises(CommandError):
        archive(directory)
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE kvitok_app")
        call_command("grant_privileges", "kvitok_app", stdout=StringIO())
        connection.check_constraints()
        cursor.execute("SET LOCAL ROLE kvitok_app")
        with pytest.raises(CommandError, match="the role that owns the tables"):
            archive(directory)
        for statement in (
            f"SELECT FROM channels_message_{month:%Y_%m}",
            f"DROP TABLE channels_message_{month:%Y_%m}",
            "DELETE FROM billing_archivedsum",
            "UPDATE billing_archivedsum SET tokens = tokens + 1",
            f"INSERT INTO billing_archivedmonth (month) VALUES ('{month}')",  # noqa: S608
            f"ALTER TABLE accounts_event DETACH PARTITION accounts_event_{next_month(month):%Y_%m}",
        ):
            with (
                pytest.raises(ProgrammingError, match=r"permission denied|must be owner"),
                transaction.atomic(),
            ):
                cursor.execute(statement)
        cursor.execute("SELECT count(*) FROM billing_archivedsum")  # of which pages read
        cursor.execute("RESET ROLE")


@pytest.mark.usefixtures("english")
def test_doctor_names_the_months_that_are_late(
    history: Api, month: date, directory: Path, settings: Settings
) -> None:
    assert stores.archives().detail == "every month is kept"
    settings.MESSAGES_KEPT_MONTHS = 12
    assert stores.archives().ok
    later = datetime.combine(month, datetime.min.time(), UTC) + timedelta(days=400)

    with time_machine.travel(later):
        finding = stores.archives()

    assert (finding.ok, finding.detail) == (False, f"late: {month:%Y-%m}")


def test_setting_below_what_may_still_change_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MESSAGES_KEPT_MONTHS", "3")

    with pytest.raises(ImproperlyConfigured, match="must be 0, or 4 or more"):
        zero_or_at_least(4, "MESSAGES_KEPT_MONTHS", 0)


def test_transfers_that_are_not_those_sealed_are_refused(
    history: Api, month: date, directory: Path
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE billing_transfer DISABLE TRIGGER ALL")
        cursor.execute("UPDATE billing_transfer SET reason = 'forged' WHERE kind = 'release'")

    with pytest.raises(CommandError, match=r"company \d+ on .* are not those that were sealed"):
        archive(directory)

    assert is_attached("billing_transfer", month) is False


def test_transfers_that_are_not_sealed_keep_their_month(
    history: Api, month: date, directory: Path
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE billing_sealedday DISABLE TRIGGER ALL")
        cursor.execute("DELETE FROM billing_sealedday")

    with pytest.raises(CommandError, match="stays: 6 transfers that are not sealed"):
        archive(directory)
