"""A backup of a busy service, restored into a second database that sends nothing old."""

import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from accounts.models import Company, Mail
from billing.models import AutoTopUp
from billing.wallet import ledger
from channels.lifecycle.state_machine import Event, EventKind
from channels.models import Message
from channels.outcomes import transitions
from operator_admin.backup import postgres
from operator_admin.backup.manifest import Manifest
from operator_admin.backup.postgres import session_without_timeouts
from operator_admin.models import TelegramNotice
from otp.models import GuardReport, SealedCode, Verification
from persons import erasure_list
from persons.erasure import erase
from persons.person import Person
from tests.api.clients import Api
from tests.channels.message_stages import PHONE, accepted, send, submitted
from tests.factories import ApiKeyFactory, DeliveryFactory, EndpointFactory
from tests.operator_admin.backup.conftest import take
from tests.operator_admin.backup.copies import Copy, load, url_of
from tests.sql import execute
from tests.stack.programs import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


def test_backup_under_load_restores_and_proves(api: Api, directory: Path, copy: Copy) -> None:
    ledger.grant(company=api.company, amount=1_000_000, reason="test")
    original = Copy(url_of(connection.settings_dict["NAME"]))
    with original.sending(ApiKeyFactory.create(company=api.company)):
        take(directory)
        taken = original.count_messages()
        wait_until(lambda: original.count_messages() > taken)

    done = copy.manage("restore", directory, "--prove")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "✗" not in done.stdout
    sums = Manifest.read(directory).sums
    assert copy.query("SELECT count(*) FROM channels_message") == [
        int(sums["rows of channels_message"])
    ]
    assert 20 < int(sums["rows of channels_message"]) <= taken
    assert copy.query("SELECT DISTINCT state FROM channels_message") == ["expired"]
    assert copy.query("SELECT held FROM billing_wallet") == [0]
    assert copy.query("SHOW default_transaction_read_only") == ["off"]


def test_restored_copy_sends_nothing_old(api: Api, directory: Path, copy: Copy) -> None:
    submitted(api, "+79161234502")
    accepted(api, "+79161234503", channel="sms")
    delivered = accepted(api, "+79161234504")
    transitions.commit_events([Event(delivered.message_id, delivered.id, EventKind.DELIVERED)])
    send(api, "+79161234501")
    endpoint = EndpointFactory.create(
        company=api.company, kinds=["message.expired"], failing_since=timezone.now()
    )
    DeliveryFactory.create(endpoint=endpoint)
    Mail.objects.create(template="code", to="a@example.com", subject="Code", text="a link")
    TelegramNotice.objects.create(text="an alert")
    GuardReport.objects.create(company=api.company, due_at=timezone.now() - timedelta(hours=1))
    Company.objects.update(closes_at=timezone.now() - timedelta(hours=1))
    AutoTopUp.objects.create(
        company=api.company,
        is_enabled=True,
        threshold=10**6,
        tokens=100,
        gateway="sandbox",
        max_orders_per_day=1,
        max_amount_per_month=1000,
        currency="RUB",
    )
    take(directory)

    done = copy.manage("restore", directory, "--prove")

    assert done.returncode == 0, done.stdout + done.stderr
    paused = "SELECT paused_for FROM billing_autotopup WHERE paused_at IS NOT NULL"
    assert copy.query(paused) == ["restored"]
    # No last warning is due before somebody has looked at the copy.
    late = "SELECT closes_at > now() + interval '8 days' FROM accounts_company"
    assert set(copy.query(late)) == {True}
    states = copy.query("SELECT state FROM channels_message ORDER BY phone")
    assert states == ["expired", "expired", "expired", "delivered"]
    assert copy.query("SELECT count(*) FROM channels_message WHERE due_at IS NOT NULL") == [0]
    assert copy.query("SELECT count(*) FROM channels_message WHERE fallback_at IS NOT NULL") == [0]
    attempts = "SELECT state FROM channels_attempt WHERE state <> 'delivered'"
    assert copy.query(attempts) == ["expired", "expired"]
    # One that waited, and one for each message that ended here: companies may replay them.
    assert (
        copy.query("SELECT state, due_at IS NULL FROM webhooks_delivery") == [("failed", True)] * 4
    )
    assert copy.query("SELECT failing_since FROM webhooks_endpoint") == [None]
    assert copy.query("SELECT due_at, text, error FROM accounts_mail") == [
        (None, "", "held back: from a restored backup")
    ]
    assert copy.query("SELECT count(*) FROM operator_admin_telegramnotice") == [0]
    assert copy.query("SELECT due_at > now() FROM otp_guardreport") == [True]
    assert "3 open messages expired, 4 webhooks failed" in done.stdout


def test_copy_lacks_custom_codes_and_is_proved(api: Api, directory: Path, copy: Copy) -> None:
    send(api, code="9988")
    assert SealedCode.objects.count() == 1
    take(directory)

    done = copy.manage("restore", directory, "--prove")

    assert done.returncode == 0, done.stdout + done.stderr
    assert copy.query("SELECT count(*) FROM otp_sealedcode") == [0]


def test_every_outbox_is_held_back() -> None:
    """A new table of due work needs a line in `hold_back`, or a reason here."""
    rows = execute(
        "SELECT relname FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid "
        "WHERE attname = 'due_at' AND relkind IN ('r', 'p') AND NOT relispartition"
    )
    result = {name for (name,) in rows}

    assert result == {
        "webhooks_delivery",
        "accounts_jobfailure",  # when failed work is tried again: whatever it sends is held back
        "accounts_mail",
        "channels_message",
        "channels_openmessage",  # its row goes with the message's state
        "channels_receipt",  # applied: they came from outside, and nothing is sent for them
        "channels_staleday",  # days to count again: nothing is sent for them
        "operator_admin_alert",
        "operator_admin_telegramnotice",
        "otp_guardreport",
    }


def test_copy_with_other_books_stays_closed(api: Api, directory: Path, copy: Copy) -> None:
    """As if somebody had made a manifest to fit a dump of other content."""
    send(api)
    take(directory)
    manifest = Manifest.read(directory)
    manifest.sums["tokens held"] = "2"
    manifest.write(directory)

    done = copy.manage("restore", directory, "--prove")

    assert done.returncode == 1
    assert "tokens held: 1 instead of 2" in done.stdout
    assert copy.query("SHOW default_transaction_read_only") == ["on"]


def test_proof_runs_missed_retention(api: Api, directory: Path, copy: Copy) -> None:
    attempt = accepted(api)
    transitions.commit_events([Event(attempt.message_id, attempt.id, EventKind.DELIVERED)])
    long_ago = timezone.now() - timedelta(days=91)
    Message.objects.update(created_at=long_ago)
    take(directory)

    copy.manage("restore", directory, "--prove")

    assert copy.query("SELECT phone FROM channels_message") == ["+7916*"]


def test_person_erased_since_the_backup_is_erased_in_the_copy(
    api: Api, directory: Path, copy: Copy
) -> None:
    attempt = accepted(api)
    transitions.commit_events([Event(attempt.message_id, attempt.id, EventKind.DELIVERED)])
    Verification.objects.update(expires_at=timezone.now())
    take(directory)
    erase(person=Person(PHONE))
    newer = directory.with_name("erasures")
    newer.write_text("\n".join(erasure_list.dump()))

    done = copy.manage("restore", directory, "--prove", "--erasures", newer)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 entries read, 1 persons erased again" in done.stdout
    assert copy.query("SELECT phone FROM channels_message") == ["+7916*"]


def test_foreign_database_copy_holds_old_messages(api: Api, directory: Path, copy: Copy) -> None:
    send(api)
    take(directory)
    load(directory, copy)

    done = copy.manage("restore", "--already-restored", "--prove", "--confirm", copy.name)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 open messages expired" in done.stdout
    assert copy.query("SELECT available, held FROM billing_wallet") == [(1000, 0)]


def test_backup_of_an_older_release_is_migrated(directory: Path, copy: Copy) -> None:
    assert copy.manage("migrate").returncode == 0
    assert copy.manage("migrate", "socialaccount", "0004").returncode == 0
    assert copy.manage("backup", directory).returncode == 0

    done = copy.manage("restore", directory, "--prove", "--replace", "--confirm", copy.name)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "migrated      socialaccount.0005" in done.stdout


# `pg_dump`, after which the months of messages are detached at once, as `archive_months` does.
DETACHING = """#!{python}
import subprocess, sys, psycopg
status = subprocess.run(["{pg_dump}", *sys.argv[1:]]).returncode
if "--version" not in sys.argv:
    with psycopg.connect("{url}", autocommit=True, options="-c lock_timeout=1000") as session:
        months = "SELECT relid::regclass::text FROM pg_partition_tree('{table}') WHERE isleaf"
        for (month,) in session.execute(months).fetchall():
            try:
                session.execute(f"ALTER TABLE {table} DETACH PARTITION {{month}}")
            except psycopg.errors.LockNotAvailable:
                pass
sys.exit(status)
"""


def test_month_archived_during_backup_is_in_dump_and_sums(
    api: Api, directory: Path, tmp_path: Path
) -> None:
    ledger.grant(company=api.company, amount=100, reason="test")
    send(api)
    real = postgres.find_program("pg_dump", server=postgres.server_version())
    program = tmp_path / "pg_dump"
    program.write_text(
        DETACHING.format(
            python=sys.executable,
            pg_dump=real,
            url=url_of(connection.settings_dict["NAME"]),
            table="channels_message",
        )
    )
    program.chmod(0o700)

    call_command("backup", directory, programs=tmp_path, stdout=StringIO())

    assert Manifest.read(directory).sums["rows of channels_message"] == "1"
    assert Message.objects.count() == 1


def timeout() -> tuple[str, bool]:
    """The limit of a statement, and whether the connection is of a pool."""
    try:
        rows = execute("SHOW statement_timeout")
        return str(rows[0][0]), connection.pool is not None  # type: ignore[attr-defined]
    finally:
        connection.close()


def test_other_threads_keep_their_pool_and_limits() -> None:
    before = timeout()

    with session_without_timeouts(), ThreadPoolExecutor(1) as threads:
        assert threads.submit(timeout).result() == before
        assert timeout() == ("0", False)

    assert before != ("0", False)
    assert timeout() == before
