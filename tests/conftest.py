"""Fixtures for every test: reset process state, API clients, the delivery loop."""

import logging
import os
import threading
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
import redis
import responses
from django.conf import settings as django_settings
from django.db import connection
from django.test import Client, TransactionTestCase, override_settings
from django.utils import translation
from pytest_django import Settings

import storage.atomic_limits
from accounts.models import Company, Member, Mode
from api.rate_limit import key_rate_limiter
from billing import message_prices
from billing.models import Package, Tariff
from billing.wallet import ledger
from channels import reconciliation
from channels.accept import outcome as message_outcome
from channels.deliver.dispatcher import Dispatcher
from channels.waiting import outcome_signals, wakeups
from config.local import bootstrap
from config.local.embedded import Servers
from links.follow import change_feed, resolution
from links.follow.change_feed import ChangeFeed
from outbound.connections import tls_context
from processes import process_state
from storage.redis_client import redis_client
from tests.api.clients import Api, ClientOf
from tests.database_cleanup import empty_database
from tests.factories import ApiKeyFactory, CompanyFactory, MemberFactory
from tests.migrated_cluster import DATABASE, TEMPLATE_VARIABLE
from tests.reauthentication import mark_reauthenticated, quick_force_login
from tests.urllib3_wire import answered_by_responses
from tests.webhooks.receivers import Receiver, listening

TOKENS = 1000
TIMEOUT = 5.0  # seconds: a busy machine must not look like one without Redis


def pytest_configure() -> None:
    bootstrap.compile_catalogues()  # pytest may run without `make`


def pytest_unconfigure() -> None:
    # Daemon threads outlive the stores and the streams; what they say then helps nobody.
    logging.raiseExceptions = False


@pytest.fixture(autouse=True, scope="session")
def _patient_limiters() -> Iterator[None]:
    with override_settings(REDIS_TIMEOUT=TIMEOUT):
        yield


@pytest.fixture(autouse=True, scope="session")
def _urllib3_by_responses() -> Iterator[None]:
    # Slow: a dispatcher's thread would keep an account of earlier settings in the meantime
    tls_context("")
    with answered_by_responses():
        yield


@pytest.fixture(autouse=True, scope="session")
def _quick_hashes() -> Iterator[None]:
    """Hashes passwords in few rounds: a million for each sign-in took a good part of the run."""
    quick = "django.contrib.auth.hashers.MD5PasswordHasher"
    with override_settings(PASSWORD_HASHERS=[quick, *django_settings.PASSWORD_HASHERS]):
        yield


@pytest.fixture(autouse=True, scope="session")
def _static_files_looked_up_when_asked_for() -> Iterator[None]:
    """WhiteNoise would read the whole folder again for every test client."""
    with override_settings(WHITENOISE_AUTOREFRESH=True):
        yield


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings: None, servers: Servers) -> None:
    """A test database is created as a copy of the migrated one, if the server has it."""
    template = DATABASE if servers.postgres is not None else os.environ.get(TEMPLATE_VARIABLE)
    if template:
        connection.settings_dict["TEST"]["TEMPLATE"] = template


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None) -> Iterator[None]:
    yield
    # A database that is read every second cannot be dropped.
    change_feed.STOPS_REFRESH_INTERVAL = float("inf")


@pytest.fixture(autouse=True, scope="session")
def _quick_emptying() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda _self: empty_database())
        yield


@pytest.fixture(autouse=True, scope="session")
def _quick_sign_in() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Client, "force_login", quick_force_login)
        yield


@pytest.fixture(autouse=True, scope="session")
def _feeds_of_other_processes() -> Iterator[list[ChangeFeed]]:
    """The feeds that tests start for their own resolvers, which end with the test: hundreds of
    them would read the stops every second.
    """
    started: list[ChangeFeed] = []
    start = ChangeFeed.start

    def start_for_a_test(feed: ChangeFeed) -> None:
        if feed is not resolution._resolver._feed:
            started.append(feed)
        start(feed)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ChangeFeed, "start", start_for_a_test)
        yield started


@pytest.fixture(scope="session")
def _kept_redis() -> redis.Redis:
    """A separate client: the process's one would connect again for each test."""
    return redis.Redis.from_url(django_settings.REDIS_URL)


@pytest.fixture(autouse=True)
def _fresh_process(
    _feeds_of_other_processes: list[ChangeFeed], _kept_redis: redis.Redis
) -> Iterator[None]:
    """Each test finds the process and Redis as if both had just been started."""
    _reset_process_state()
    _kept_redis.flushdb()
    yield
    while _feeds_of_other_processes:
        _feeds_of_other_processes.pop().stop()
    _reset_process_state()


def _reset_process_state() -> None:
    translation.deactivate()  # the test client leaves its last request's language behind
    process_state.reset()
    message_prices._prices._stale_at = float("inf")  # as if its thread had read: no query
    resolution._resolver._cache.clear()
    resolution._resolver._store._back_off.reset()


def reset_redis_state() -> None:
    redis_client.cache_clear()
    storage.atomic_limits._back_off.reset()
    key_rate_limiter.reset()


@pytest.fixture
def english() -> Iterator[None]:
    with translation.override("en"):
        yield


@pytest.fixture
def no_redis() -> Iterator[None]:
    """Makes Redis unavailable to limits, wake-ups and signals."""
    with override_settings(REDIS_URL="unix:///nowhere/redis.sock"):
        reset_redis_state()
        yield
    reset_redis_state()


@pytest.fixture(params=["redis", "postgres"])
def store(request: pytest.FixtureRequest) -> str:
    """The store of the counters of limits: both must give the same answers."""
    if request.param == "postgres":
        request.getfixturevalue("no_redis")
    return str(request.param)


@pytest.fixture
def wire() -> Iterator[responses.RequestsMock]:
    """Answers the HTTP calls to vendors."""
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        yield mock


@pytest.fixture
def queued_at_once() -> Iterator[None]:
    """Every place to wait for an outcome is taken, so sends are answered `queued` at once."""
    taken = 0
    while outcome_signals._slots.acquire(blocking=False):
        taken += 1
    yield
    for _ in range(taken):
        outcome_signals._slots.release()


@pytest.fixture
def no_call_waits(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each send has its answer before the next one comes, though no vendor is asked here."""
    settings.SEND_WAIT = 0
    monkeypatch.setattr(message_outcome, "CALL_GRACE", 0)


@pytest.fixture
def dispatcher(transactional_db: None) -> Iterator[Dispatcher]:
    """The delivery loop of a worker, on a thread; sends wait for what it makes of them."""
    worker = Dispatcher()
    thread = threading.Thread(target=worker.run, name="delivery")
    thread.start()
    yield worker
    worker.stop()
    wakeups.wake_now()  # so that its listener sees the end now rather than in a second
    thread.join(10)
    for listener in threading.enumerate():
        if listener.name == "wake-listener":
            listener.join(3)


@pytest.fixture
def company(db: None) -> Company:
    """An approved Russian company with tokens."""
    company = CompanyFactory.create(name="Ромашка")
    ledger.grant(company=company, amount=TOKENS, reason="test")
    return company


@pytest.fixture
def owner(company: Company, client: Client) -> Member:
    """The signed-in owner of the company, who has just reauthenticated."""
    member = MemberFactory.create(company=company)
    client.force_login(member.user)
    mark_reauthenticated(client, member.user)
    return member


@pytest.fixture
def client_of(request: pytest.FixtureRequest, db: None) -> ClientOf:
    """Makes clients of a company, each with a new key of a mode and other fields."""
    if "dispatcher" not in request.fixturenames:
        request.getfixturevalue("queued_at_once")

    def make(company: Company, mode: str = Mode.LIVE, **fields: Any) -> Api:
        key = ApiKeyFactory.create(company=company, mode=mode, **fields)
        return Api(company, key.plaintext)

    return make


@pytest.fixture
def api(company: Company, client_of: ClientOf) -> Api:
    """A client with a live key."""
    return client_of(company)


@pytest.fixture
def test_api(company: Company, client_of: ClientOf) -> Api:
    """A client of the same company with a test key."""
    return client_of(company, Mode.TEST)


@pytest.fixture
def price_list(db: None) -> None:
    Tariff.objects.create(tokens_from=100, price=Decimal("1.9"))
    Package.objects.create(code="start", tokens=1000, price=Decimal(1500))


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A company's server that receives webhooks."""
    with listening() as server:
        yield server


@pytest.fixture
def balanced_books(transactional_db: None) -> Iterator[None]:
    yield
    assert list(reconciliation.breaches()) == []
