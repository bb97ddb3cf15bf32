"""A real master, replica and Sentinels: our clients follow a failover by themselves."""

import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
import redis
from celery import current_app
from django.test import override_settings
from pytest_django import Settings
from redis.sentinel import MasterNotFoundError

from storage import redis_address
from storage.redis_client import blocking_redis_client, call, redis_client
from tests.api.races import at_once
from tests.redis_servers import SentinelGroup, sentinel_group
from tests.stack.paused_process import paused
from tests.stack.programs import wait_until

THREADS = 8
BLINK = 25.0  # seconds until a failover is over, on a busy machine


@pytest.fixture(scope="module")
def running_group(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SentinelGroup]:
    with sentinel_group(tmp_path_factory.mktemp("sentinel")) as started:
        yield started


@pytest.fixture
def group(running_group: SentinelGroup) -> Iterator[SentinelGroup]:
    wait_until(running_group.is_complete, BLINK)
    url = running_group.url
    with override_settings(REDIS_URL=url, BROKER_URL=url):
        _forget_clients()
        yield running_group
    _forget_clients()


def _forget_clients() -> None:
    redis_client.cache_clear()
    blocking_redis_client.cache_clear()


def test_clients_find_the_master(group: SentinelGroup) -> None:
    call("SET", "found", 1)
    blocking_redis_client().incr("found")

    assert group.master.client.get("found") == b"2"


def test_failover_is_followed_by_every_thread(group: SentinelGroup) -> None:
    old = group.master
    at_once([lambda: call("SET", "before", 1)] * THREADS)

    group.fail_over()
    wait_until(lambda: group.master is not old, BLINK)
    # Until then it takes writes, and loses them: that is Redis', with any client.
    wait_until(lambda: old.client.role()[0] == b"slave", BLINK)
    wait_until(_writes, BLINK)

    assert at_once([lambda: call("SET", "after", 1)] * THREADS) == [b"OK"] * THREADS
    assert group.master.client.get("after") == b"1"


def test_killed_master_is_replaced_within_seconds(group: SentinelGroup) -> None:
    old = group.master
    redis_client().set("before", 1)

    old.kill()
    wait_until(_writes, BLINK)

    assert group.master is group.other_than(old)
    old.start()  # the Sentinels make it a replica


def test_hanging_sentinel_costs_little(group: SentinelGroup, settings: Settings) -> None:
    settings.REDIS_TIMEOUT = 0.05
    first, *_ = group.sentinels
    with paused(first.pid):
        _forget_clients()
        started_at = time.monotonic()
        wait_until(_writes, BLINK)

        assert time.monotonic() - started_at < 2


def test_celery_publishes_to_the_master(group: SentinelGroup) -> None:
    wait_until(_publishes, BLINK)

    assert group.master.client.llen("sentinel-test") == 1


def _publishes() -> bool:
    """Not while a Sentinel that was starved of the processor believes that the master is down."""
    with current_app.connection_for_write() as connection, suppress(MasterNotFoundError):
        with connection.SimpleQueue("sentinel-test") as queue:
            queue.put("x")
        return True
    return False


def test_no_master_is_an_error_of_redis(group: SentinelGroup, settings: Settings) -> None:
    settings.REDIS_URL = group.url.replace("/kvitok/", "/other/")
    _forget_clients()

    with pytest.raises(redis.ConnectionError):
        redis_client().ping()


def _writes() -> bool:
    try:
        return bool(redis_client().set("writable", 1))
    except redis.RedisError:
        return False


def test_broker_of_sentinel_has_a_printable_name() -> None:
    address = redis_address.parse("redis+sentinel://:secret@one:1,two:2/main/3")

    assert address.celery_url == "redis://main:6379/3"
    assert "secret" not in repr(address)
