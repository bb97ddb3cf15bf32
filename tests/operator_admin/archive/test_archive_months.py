"""The `archive_months` command: which months may leave the database."""

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
from pytest_django import Settings

from billing.models import ArchivedMonth
from channels.models import Attempt, Message
from config.environment.variables import zero_or_at_least
from operator_admin.doctor import stores
from operator_admin.management.commands import archive_months
from otp.models import Verification
from storage.months.calendar import next_month
from storage.months.old_months import is_attached, newest_to_archive
from tests.api.clients import Api
from tests.channels.message_stages import send
from tests.factories import EventFactory
from tests.operator_admin.archive.commands import archive
from tests.sql import execute
from webhooks.models import Event

pytestmark = pytest.mark.django_db
PHONE = "+79161234567"


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


def test_before_names_a_month_in_every_time_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        newest = archive_months._newest_to_archive("2025-06")
    finally:
        monkeypatch.undo()
        time.tzset()

    assert newest == date(2025, 5, 1)


def test_month_younger_than_late_receipts_is_refused(directory: Path) -> None:
    with pytest.raises(CommandError, match="may still change"):
        archive(directory, "--before", f"{timezone.now():%Y-%m}", days=0)


@pytest.mark.parametrize("text", ["0001-01", "2026-13", "May"])
def test_before_that_no_month_precedes_is_refused(text: str) -> None:
    with pytest.raises(CommandError, match="--before is a month"):
        archive_months._newest_to_archive(text)


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


def test_application_cannot_archive_or_read_detached_month(
    history: Api, month: date, directory: Path
) -> None:
    (directory / f"{month:%Y-%m}.partial").mkdir()
    with pytest.raises(CommandError, match="Is a directory"):
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
            f"ALTER TABLE webhooks_event DETACH PARTITION webhooks_event_{next_month(month):%Y_%m}",
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


def test_transfers_that_are_not_sealed_keep_their_month(
    history: Api, month: date, directory: Path
) -> None:
    execute("ALTER TABLE billing_sealedday DISABLE TRIGGER ALL")
    execute("DELETE FROM billing_sealedday")

    with pytest.raises(CommandError, match="stays: 6 transfers that are not sealed"):
        archive(directory)
