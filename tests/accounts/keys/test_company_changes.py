"""Every process learns of a change of the data that keys carry, by any statement."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from pytest_django import DjangoAssertNumQueries

from accounts.keys import api_keys, key_format
from accounts.keys.principal import Principal
from accounts.models import Company, CompanyChange
from tests.accounts.keys.operators import REVOKE, SUSPEND, Session, session
from tests.factories import ApiKeyFactory, CodeTextFactory, CompanyFactory, IssuedKey
from tests.session_settings import session_setting
from tests.sql import execute

pytestmark = pytest.mark.django_db(transaction=True)

_KEY = "UPDATE accounts_apikey SET {}"
_COMPANY = "UPDATE accounts_company SET {}"
CHANGES = [
    *(
        _KEY.format(change)
        for change in (
            "revoked_at = now()",
            "expires_at = now()",
            "last_used_at = now(), scopes = '{otp}'",
            "allowed_ips = '{203.0.113.9}'",
            "mode = 'test'",
        )
    ),
    *(
        _COMPANY.format(change)
        for change in (
            "status = 'suspended'",
            "country = 'KZ'",
            "language = 'en'",
            "name = 'Renamed'",
            "brand = 'Brand'",
            "default_channel = 'sms'",
            "code_length = 4",
            "all_countries = true",
            "allowed_countries = '{KZ}'",
            "default_link_lifetime = 60",
            "api_rate = 7",
            "cool_down = 90",
            "codes_per_day = 3",
            "links_per_day = 3",
            "falls_back = true, fallback_chain = '{sms}'",
            """budgets = '{"": [5, null]}'""",
            "link_host = 'go.example.com'",
            "link_expired_url = 'https://example.com/over'",
        )
    ),
    "DELETE FROM accounts_apikey",
    "UPDATE accounts_member SET role = 'developer'",
    "DELETE FROM accounts_member",
    "UPDATE otp_codetext SET body = 'new {code}'",
    "DELETE FROM otp_codetext",
    "TRUNCATE otp_codetext",
    "INSERT INTO otp_codetext (company_id, locale, purpose, channel, body, changed_at)"
    " SELECT id, 'en', 'p', 'sms', '{code}', now() FROM accounts_company",
    "INSERT INTO otp_autofill (company_id, webotp_host, app_hash)"
    " SELECT id, 'example.com', '' FROM accounts_company",
]


@pytest.fixture
def key() -> IssuedKey:
    """A key that the process has cached until it learns of a change."""
    company = CompanyFactory.create()
    CodeTextFactory.create(company=company)
    key = ApiKeyFactory.create(company=company)
    api_keys.refresh()
    assert api_keys.find(key.plaintext)
    return key


@pytest.fixture
def operator() -> Iterator[Session]:
    with session() as database_session:
        yield database_session


def cached_principal(key: IssuedKey) -> Principal | None:
    """The process's cached answer without a query, an hour after it was read."""
    for entry in api_keys._valid_keys.entries.values():
        entry.read_at -= 3600
    return api_keys._valid_keys.get(key_format.digest(key.plaintext))


def is_heard(key: IssuedKey) -> bool:
    before = cached_principal(key)
    assert before is not None
    api_keys.refresh()
    return cached_principal(key) != before and api_keys.find(key.plaintext) != before


@pytest.mark.parametrize("change", CHANGES)
def test_change_in_sql_is_noticed(key: IssuedKey, operator: Session, change: str) -> None:
    operator.execute(change.encode())

    assert is_heard(key)


def test_every_table_that_is_read_for_keys_is_watched() -> None:
    statement = api_keys.statements()["read"]
    rows = execute(
        "SELECT DISTINCT tgrelid::regclass::text FROM pg_trigger"
        " WHERE tgfoid = 'record_company_change'::regproc"
    )
    watched = {table for (table,) in rows}

    assert watched == set(re.findall(r"(?:FROM|JOIN) (\w+_\w+)\b(?!\.)", statement))


def test_use_of_a_key_is_not_a_change(key: IssuedKey, operator: Session) -> None:
    CompanyChange.objects.all().delete()

    operator.execute("UPDATE accounts_apikey SET last_used_at = now() + interval '1 hour'")
    operator.execute("UPDATE accounts_company SET status = status")

    assert not is_heard(key)
    assert not CompanyChange.objects.exists()


def test_change_that_commits_long_after_younger_ones_is_noticed(
    key: IssuedKey, operator: Session
) -> None:
    others = [CompanyFactory.create() for _ in range(3)]
    with operator.transaction():
        operator.execute(REVOKE, [key.pk])
        for other in others:
            Company.objects.filter(pk=other.pk).update(brand="Younger")
            api_keys.refresh()
        assert cached_principal(key) is not None

    assert is_heard(key)


def test_rolled_back_change_is_not_published(key: IssuedKey, operator: Session) -> None:
    with operator.transaction(force_rollback=True):
        operator.execute(REVOKE, [key.pk])
        assert not is_heard(key)

    assert not is_heard(key)


def test_change_after_rolled_back_savepoint_is_noticed(key: IssuedKey, operator: Session) -> None:
    with operator.transaction():
        with operator.transaction(force_rollback=True):
            operator.execute(SUSPEND, [key.company_id])
        operator.execute(REVOKE, [key.pk])

    assert is_heard(key)


def test_change_during_a_long_transaction_is_noticed_once(
    key: IssuedKey, operator: Session, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """Its id keeps the query's lower bound from advancing."""
    with transaction.atomic():
        CompanyFactory.create()
        operator.execute(_COMPANY.format("brand = 'Brand'").encode())
        assert is_heard(key)
        for _ in range(3):
            with django_assert_num_queries(1):
                api_keys.refresh()


def test_writers_of_one_company_wait_for_nobody(key: IssuedKey, operator: Session) -> None:
    operator.execute("SET lock_timeout = '100ms'")
    with transaction.atomic():
        Company.objects.filter(pk=key.company_id).update(brand="Brand")
        operator.execute(REVOKE, [key.pk])
        assert is_heard(key)

    assert CompanyChange.objects.filter(company_id=key.company_id).count() == 2
    Company.objects.filter(pk=key.company_id).update(brand="Again")
    assert CompanyChange.objects.filter(company_id=key.company_id).count() == 1


def test_key_that_changes_its_company_is_noticed_in_both(key: IssuedKey, operator: Session) -> None:
    other = CompanyFactory.create()
    CompanyChange.objects.all().delete()

    operator.execute("UPDATE accounts_apikey SET company_id = %s", [other.pk])

    changed = set(CompanyChange.objects.values_list("company_id", flat=True))
    assert changed == {key.company_id, other.pk}


@pytest.mark.parametrize(
    "changes",
    [{"oldest_running": 2**40}, {"server": datetime(2026, 1, 1, tzinfo=UTC)}],
    ids=["lower id", "another start"],
)
def test_resolution_cache_is_ignored_after_a_failover(
    key: IssuedKey, changes: dict[str, Any]
) -> None:
    """The new server may have lost the last commits of the old one."""
    assert api_keys._changes.last is not None
    # Unseen by the triggers, as on another server.
    with session_setting("session_replication_role", "replica"), connection.cursor() as cursor:
        cursor.execute(SUSPEND, [key.company_id])
    assert not is_heard(key)

    api_keys._changes.last = api_keys._changes.last._replace(**changes)

    assert is_heard(key)


def test_read_only_server_is_not_trusted(key: IssuedKey) -> None:
    """An old primary, now a standby, misses keys that are changed on the new one."""
    with session_setting("default_transaction_read_only", "on"), pytest.raises(OperationalError):
        api_keys.refresh()

    api_keys.refresh()


def test_ids_of_a_restored_dump_are_not_new(
    key: IssuedKey, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    CompanyChange.objects.create(transaction_id=2**40, company_id=key.company_id)

    assert not is_heard(key)
