"""The whole service as real processes, started once for this folder."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import setup_databases, teardown_databases
from pytest_django import DjangoDbBlocker

from channels.models import ProviderAccount
from config.local.embedded import Servers
from tests.sql import execute
from tests.stack.sender import Sender
from tests.stack.stack import Stack, drop_connections


@pytest.fixture(scope="package")
def database(django_test_environment: None, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """The name of a database of this folder's own, where rows stay until its last test."""
    usual = connection.settings_dict["TEST"]["NAME"]
    with django_db_blocker.unblock():
        drop_connections()
        connection.settings_dict["TEST"]["NAME"] = "kvitok_stack"
        made = setup_databases(verbosity=0, interactive=False)
        name = connection.settings_dict["NAME"]
        # A killed server may lose nothing that it acknowledged, as in production.
        execute(f"ALTER DATABASE {name} SET synchronous_commit = on")
        yield name
        drop_connections()
        teardown_databases(made, verbosity=0)
        connection.settings_dict["TEST"]["NAME"] = usual


@pytest.fixture(scope="package")
def running_stack(
    servers: Servers, database: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stack]:
    assert servers.postgres is not None, "these tests kill PostgreSQL: unset DATABASE_URL"
    url = urlsplit(servers.postgres.url)._replace(path=f"/{database}").geturl()
    stack = Stack(servers, url, tmp_path_factory.mktemp("stack"))
    try:
        stack.start()
        yield stack
    finally:
        stack.stop()


@pytest.fixture
def stack(running_stack: Stack) -> Iterator[Stack]:
    """Everything running without faults; afterwards the ledger reconciles and no log has errors."""
    yield running_stack
    running_stack.carrier.clear_faults()
    ProviderAccount.objects.all().delete()  # what was throttled here is left alone nowhere else
    assert running_stack.new_errors() == []
    call_command("reconcile")


@pytest.fixture
def sender(stack: Stack) -> Sender:
    return stack.sender()


@pytest.fixture
def unlimited_sender(stack: Stack) -> Sender:
    """A company without an effective rate limit."""
    return stack.sender(api_rate=1_000_000)


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    """For requests only: none of them may touch the database."""
    with ThreadPoolExecutor(64) as pool:
        yield pool
