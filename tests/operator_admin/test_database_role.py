"""The application runs with a role that owns no table and can rewrite no history."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import ProgrammingError, connection, transaction
from pytest_django import Settings

from accounts.audit import record
from accounts.models import AuditEvent
from billing.wallet import ledger
from links.clicks import partitions
from operator_admin import database_role
from operator_admin.doctor import stores
from storage.months import partitions as months
from tests.api.blocking import start_blocked
from tests.factories import CompanyFactory, UserFactory
from tests.session_settings import session_setting
from tests.sql import execute

pytestmark = pytest.mark.django_db

ROLE = "kvitok-app"  # wants quoting


@pytest.fixture
def application() -> Iterator[None]:
    """As its role; like all that a test does, the role is rolled back."""
    with connection.cursor() as cursor:
        cursor.execute(f'CREATE ROLE "{ROLE}"')
        call_command("grant_privileges", ROLE, stdout=StringIO())
        connection.check_constraints()
        cursor.execute(f'SET LOCAL ROLE "{ROLE}"')
        yield
        cursor.execute("RESET ROLE")


@pytest.mark.parametrize("table", database_role.APPEND_ONLY)
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {} SET id = id",
        "DELETE FROM {}",
        "TRUNCATE {}",
        "DROP TABLE {} CASCADE",
        "ALTER TABLE {} DISABLE TRIGGER ALL",
        "DROP TRIGGER {}_immutable ON {}",
        "ALTER TABLE {} OWNER TO CURRENT_USER",
    ],
)
def test_application_cannot_rewrite(application: None, table: str, statement: str) -> None:
    with (
        pytest.raises(ProgrammingError, match=r"permission denied|must be owner"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement.format(table, table))


@pytest.mark.parametrize("table", [table.name for table in months.TABLES])
def test_application_creates_partitions_without_direct_access(
    application: None, table: str
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT create_month_partition(%s::regclass, '2099-01-01')", [table])
        assert cursor.fetchone() == (True,)
        cursor.execute(f"SELECT count(*) FROM {table}")  # noqa: S608 - our own name

        with pytest.raises(ProgrammingError, match="permission denied"), transaction.atomic():
            cursor.execute(f"DELETE FROM {table}_2099_01")  # noqa: S608


def test_application_role_only_analyzes_months(application: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT create_month_partition('webhooks_event'::regclass, '2099-01-01')")
        cursor.execute("SELECT analyze_month_partition('webhooks_event_2099_01'::regclass)")
        cursor.execute("SELECT reltuples FROM pg_class WHERE relname = 'webhooks_event_2099_01'")
        assert cursor.fetchone() == (0,)
        cursor.execute("CREATE TABLE trap (id uuid)")

        with pytest.raises(ProgrammingError, match="not a partition"), transaction.atomic():
            cursor.execute("SELECT analyze_month_partition('trap'::regclass)")


def test_application_cannot_partition_its_own_table(application: None) -> None:
    """With the owner's rights it could run what the table's expressions call."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE trap (id uuid) PARTITION BY RANGE (id)")

        with pytest.raises(ProgrammingError, match="another role"), transaction.atomic():
            cursor.execute("SELECT create_month_partition('trap'::regclass, '2099-01-01')")


def test_application_cannot_have_the_owner_run_its_functions(application: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION to_char(date, text) RETURNS text LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'run as %', current_user; END $$"
        )

        cursor.execute("SELECT create_month_partition('webhooks_event'::regclass, '2099-01-01')")

        assert cursor.fetchone() == (True,)


def test_application_cannot_switch_triggers_off(application: None) -> None:
    with (
        pytest.raises(ProgrammingError, match="permission denied"),
        transaction.atomic(),
        session_setting("session_replication_role", "replica"),
    ):
        pass


def test_application_role_does_its_daily_work(application: None) -> None:
    company = CompanyFactory.create()
    user = UserFactory.create()
    ledger.grant(company=company, amount=5, reason="gift")
    record("settings.changed", "brand", company=company, user=user)
    user.delete()
    partitions._created.clear()
    partitions.ensure_upcoming()
    partitions.drop_old()

    assert AuditEvent.objects.filter(action="settings.changed").count() == 1


def test_grants_are_given_again_without_harm(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f'CREATE ROLE "{ROLE}"')
        for _ in range(2):
            call_command("grant_privileges", ROLE, stdout=StringIO())
        cursor.execute(f'SET LOCAL ROLE "{ROLE}"')

    assert database_role.powers() == []


@pytest.fixture
def _granted() -> Iterator[None]:
    """The role has its privileges, committed, as before any upgrade but the first."""
    with connection.cursor() as cursor:
        cursor.execute(f'CREATE ROLE "{ROLE}"')
        call_command("grant_privileges", ROLE, stdout=StringIO())
        yield
        cursor.execute(f'REASSIGN OWNED BY "{ROLE}" TO CURRENT_USER')
        cursor.execute(f'DROP OWNED BY "{ROLE}"')
        cursor.execute(f'DROP ROLE "{ROLE}"')


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_granted")
def test_regranting_does_not_wait_for_click_counting() -> None:
    with ThreadPoolExecutor(1) as pool, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("LOCK links_click IN ROW EXCLUSIVE MODE")
        output = StringIO()
        granting = start_blocked(
            pool, lambda: call_command("grant_privileges", ROLE, stdout=output)
        )

        assert granting.done()
    assert "may do" in output.getvalue()


def test_unknown_role_is_refused_with_words() -> None:
    with pytest.raises(CommandError, match="CREATE ROLE nobody"):
        call_command("grant_privileges", "nobody")


def test_doctor_reports_superuser_role(settings: Settings) -> None:
    assert stores.database_role().ok  # development

    settings.PRODUCTION = True
    finding = stores.database_role()

    assert (finding.ok, finding.detail) == (False, "it is a superuser")
    assert "Two roles" in finding.remedy


def test_doctor_reports_owner_role(settings: Settings, application: None) -> None:
    settings.PRODUCTION = True
    assert stores.database_role().ok

    execute("RESET ROLE")
    execute(f'ALTER TABLE accounts_auditevent OWNER TO "{ROLE}"')
    execute(f'SET LOCAL ROLE "{ROLE}"')

    assert stores.database_role().detail == "it owns accounts_auditevent"
