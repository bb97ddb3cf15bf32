"""The time for which a process trusts a cached key, and the queries that this saves."""

import threading
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone
from psycopg_pool import PoolTimeout
from pytest_django import DjangoAssertNumQueries

from accounts.keys import api_keys, key_format
from accounts.keys.principal import Principal
from accounts.models import ApiKey, Company
from processes.background import PeriodicThread
from tests.accounts.keys.ageing import age_cache
from tests.accounts.keys.operators import REVOKE, SUSPEND, Session, session
from tests.factories import ApiKeyFactory, IssuedKey
from tests.stack.programs import BUSY, wait_until


@pytest.fixture
def key(company: Company) -> IssuedKey:
    return ApiKeyFactory.create(company=company)


@pytest.fixture
def operator(transactional_db: None) -> Iterator[Session]:
    with session() as database_session:
        yield database_session


@pytest.fixture
def refreshing(transactional_db: None) -> Iterator[PeriodicThread]:
    """The thread of a web process."""
    thread = api_keys.start_refresh_thread()
    wait_until(lambda: api_keys._changes.last is not None)
    yield thread
    thread.stop()
    wait_until(lambda: "keys" not in [running.name for running in threading.enumerate()])


def status(principal: Principal | None) -> str:
    return "" if principal is None else principal.company_status


def cached_principal(key: IssuedKey) -> Principal | None:
    """The process's cached answer without a query."""
    return api_keys._valid_keys.get(key_format.digest(key.plaintext))


def hear() -> None:
    """Runs the thread, which sees the key that was read before the first answer."""
    api_keys.refresh()
    api_keys.refresh()


def test_keys_used_every_five_seconds_cost_requests_no_query(
    company: Company, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    keys = [ApiKeyFactory.create(company=company).plaintext for _ in range(100)]
    api_keys.refresh()
    assert None not in [api_keys.find(plaintext) for plaintext in keys]

    for _ in range(30):
        age_cache(5.0)
        api_keys.refresh()
        with django_assert_num_queries(0):
            assert None not in [api_keys.find(plaintext) for plaintext in keys]


def test_idle_thread_rereads_used_keys_each_minute(
    key: IssuedKey, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    hear()
    assert api_keys.find(key.plaintext)
    with django_assert_num_queries(1):
        api_keys.refresh()

    age_cache(62.0)
    api_keys.refresh()
    ApiKey.objects.update(last_used_at=timezone.now() - timedelta(seconds=62))
    assert api_keys.find(key.plaintext)
    with django_assert_num_queries(2):
        api_keys.refresh()

    used_at = ApiKey.objects.get(pk=key.pk).last_used_at
    assert used_at is not None
    assert timezone.now() - used_at < timedelta(seconds=30)
    with django_assert_num_queries(1):
        api_keys.refresh()


def test_unused_key_is_evicted(key: IssuedKey) -> None:
    hear()
    assert api_keys.find(key.plaintext)
    api_keys.refresh()

    age_cache(600.0)
    api_keys.refresh()

    assert cached_principal(key) is None


def test_key_read_before_the_first_answer_counts_for_two_seconds(key: IssuedKey) -> None:
    assert api_keys.find(key.plaintext)
    api_keys._valid_keys.used.clear()

    api_keys.refresh()
    age_cache(2.0)
    api_keys.refresh()

    assert cached_principal(key) is None


def test_key_ends_at_its_expiry_by_itself(company: Company) -> None:
    expires_at = timezone.now() + timedelta(seconds=40)
    key = ApiKeyFactory.create(company=company, expires_at=expires_at)
    hear()
    assert api_keys.find(key.plaintext)

    age_cache(41.0)
    api_keys._valid_keys.confirm(time.monotonic())

    assert cached_principal(key) is None


def test_unknown_keys_are_looked_up_and_displace_no_key(
    key: IssuedKey,
    monkeypatch: pytest.MonkeyPatch,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    monkeypatch.setattr(api_keys._invalid_keys, "_max_entries", 5)
    unknown = [key_format.generate("live") for _ in range(20)]
    hear()
    assert api_keys.find(key.plaintext)

    assert {api_keys.find(plaintext) for plaintext in unknown} == {None}
    with django_assert_num_queries(0):
        assert api_keys.find(key.plaintext)
        assert api_keys.find(unknown[-1]) is None

    ApiKeyFactory.create(company=key.company, plaintext=unknown[-1])
    age_cache(2.0)
    assert api_keys.find(unknown[-1])


@pytest.mark.django_db(transaction=True)
def test_changed_used_keys_are_reread_and_others_dropped(
    company: Company, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    keys = [ApiKeyFactory.create(company=company) for _ in range(40)]
    api_keys.refresh()
    for api_key in keys:
        api_keys.find(api_key.plaintext)
    api_keys.refresh()
    age_cache(70.0)
    api_keys.refresh()
    for api_key in keys[:30]:
        api_keys.find(api_key.plaintext)
    Company.objects.filter(pk=company.pk).update(brand="Brand")

    with django_assert_num_queries(2):
        api_keys.refresh()

    with django_assert_num_queries(0):
        result = [api_keys.find(api_key.plaintext) for api_key in keys[:30]]
    assert [principal.brand if principal else None for principal in result] == ["Brand"] * 30
    assert [cached_principal(api_key) for api_key in keys[30:]] == [None] * 10


@pytest.mark.django_db(transaction=True)
def test_read_older_than_a_refresh_is_valid_for_two_seconds(
    key: IssuedKey, operator: Session
) -> None:
    """The read began before a commit that the thread learned of while the read was running."""
    digest = key_format.digest(key.plaintext)
    api_keys.refresh()
    read_at = time.monotonic()
    result = api_keys._read([digest])
    api_keys.evict(digest)
    operator.execute(SUSPEND, [key.company_id])
    api_keys.refresh()

    api_keys._valid_keys.store([digest], result, read_at)

    assert status(api_keys.find(key.plaintext)) == "approved"
    age_cache(2.0)
    api_keys._valid_keys.confirm(time.monotonic())
    assert status(api_keys.find(key.plaintext)) == "suspended"


@pytest.mark.django_db(transaction=True)
def test_reads_do_not_wait_for_locked_key(key: IssuedKey, operator: Session) -> None:
    with operator.transaction():
        operator.execute(REVOKE, [key.pk])
        started_at = time.monotonic()
        assert api_keys.find(key.plaintext)
        api_keys.refresh()
        assert time.monotonic() < started_at + BUSY  # `DATABASE_LOCK_TIMEOUT` is more
    api_keys.refresh()

    assert api_keys.find(key.plaintext) is None


@pytest.mark.django_db(transaction=True)
def test_thread_notices_a_change_within_two_seconds(
    key: IssuedKey, refreshing: PeriodicThread, operator: Session
) -> None:
    assert api_keys.find(key.plaintext)
    time.sleep(2.5)
    assert cached_principal(key) is not None

    operator.execute(REVOKE, [key.pk])

    wait_until(lambda: api_keys.find(key.plaintext) is None, 2.0 + BUSY)


@pytest.mark.django_db(transaction=True)
def test_process_without_the_thread_reads_every_two_seconds(
    key: IssuedKey, refreshing: PeriodicThread, operator: Session
) -> None:
    assert api_keys.find(key.plaintext)
    refreshing.stop()
    wait_until(lambda: "keys" not in [thread.name for thread in threading.enumerate()])

    operator.execute(REVOKE, [key.pk])

    assert api_keys.find(key.plaintext) is not None
    wait_until(lambda: api_keys.find(key.plaintext) is None, 2.0 + BUSY)


@pytest.mark.django_db(transaction=True)
def test_key_is_valid_for_two_seconds_while_the_database_is_down(
    key: IssuedKey, refreshing: PeriodicThread, operator: Session
) -> None:
    name = connection.settings_dict["NAME"]
    assert api_keys.find(key.plaintext)
    with session(dbname="postgres") as server:
        server.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
        try:
            _end_other_sessions(operator)
            operator.execute(REVOKE, [key.pk])
            gone_at = time.monotonic()
            while time.monotonic() < gone_at + 5.0:
                _assert_honest(key, gone_at)
                time.sleep(0.1)
        finally:
            server.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')

    connection.close()
    assert api_keys.find(key.plaintext) is None
    wait_until(lambda: api_keys._valid_keys._asked_at > gone_at + 5.0)


def _end_other_sessions(session: Session) -> None:
    session.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )


def _assert_honest(key: IssuedKey, revoked_at: float) -> None:
    """Asserts the answer to a request."""
    asked_at = time.monotonic()
    try:
        result = api_keys.find(key.plaintext)
    except (OperationalError, InterfaceError, PoolTimeout):
        connection.close()
        return
    assert result is None or asked_at < revoked_at + api_keys.CACHE_SECONDS
