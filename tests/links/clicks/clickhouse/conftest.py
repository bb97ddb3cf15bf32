"""A ClickHouse server for the tests, if the machine has one."""

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from links.clicks import clickhouse_sink, clickhouse_tables
from links.clicks.buffer import STREAM
from storage.redis_client import blocking_redis_client
from tests.clickhouse_server import ClickHouseServer, running_clickhouse


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouseServer]:
    with running_clickhouse(tmp_path_factory.mktemp("clickhouse")) as started:
        yield started


@pytest.fixture
def clickhouse(server: ClickHouseServer, settings: Settings) -> ClickHouseServer:
    """A server with an empty table, and a stream without clicks."""
    settings.CLICKHOUSE_URL = server.url
    server.ask(f"DROP TABLE IF EXISTS {clickhouse_tables.TABLE}")
    clickhouse_tables.create()
    return server


@pytest.fixture(autouse=True)
def _no_traces() -> Iterator[None]:
    yield
    for key in (STREAM, clickhouse_sink.LOCK, *clickhouse_tables.KEYS):
        blocking_redis_client().delete(key)
