"""The `doctor` checks the copy of clicks in ClickHouse."""

import time
from collections.abc import Iterator

import pytest
from pytest_django import Settings

from links.clicks import clickhouse_sink, clickhouse_tables
from links.clicks.buffer import STREAM
from operator_admin.doctor.backlogs import click_copy
from storage.redis_client import redis_client
from tests.clickhouse_server import ClickHouseServer, running_clickhouse

pytestmark = pytest.mark.usefixtures("english")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouseServer]:
    with running_clickhouse(tmp_path_factory.mktemp("clickhouse")) as started:
        yield started


@pytest.fixture(autouse=True)
def _no_traces() -> Iterator[None]:
    yield
    redis_client().delete(STREAM, clickhouse_sink.LOCK, *clickhouse_tables.KEYS)


def test_check_passes_without_clickhouse(settings: Settings) -> None:
    settings.CLICKHOUSE_URL = ""

    assert (click_copy().ok, click_copy().detail) == (True, "not used")


def test_unavailable_server_fails_the_check(settings: Settings) -> None:
    settings.CLICKHOUSE_URL = "http://kvitok:hidden@127.0.0.1:1/"

    result = click_copy()

    assert (result.ok, result.detail) == (False, "ConnectionError")
    assert "CLICKHOUSE_URL" in result.remedy


@pytest.mark.django_db
def test_each_step_of_the_setup_is_named(server: ClickHouseServer, settings: Settings) -> None:
    settings.CLICKHOUSE_URL = server.url
    without_table = click_copy()
    server.ask("CREATE TABLE clicks (a UInt8) ENGINE = Memory")
    without_clicks = click_copy()
    clickhouse_sink.write_clicks()
    result = click_copy()
    redis_client().xadd(STREAM, {"id": "a"}, id=f"{int(time.time() - 400) * 1000}-0")
    late = click_copy()

    assert "clickhouse_tables" in without_table.remedy
    assert (without_clicks.ok, without_clicks.detail.partition(",")[0]) == (
        False,
        "nothing written yet",
    )
    assert result.ok
    assert result.detail.startswith("complete since ")
    assert not late.ok
