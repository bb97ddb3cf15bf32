"""Whatever uses Redis, on a server that turns into a replica or takes our rights away."""

import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
import redis
from celery import current_app
from django.conf import settings
from kombu.exceptions import OperationalError
from redis._parsers.base import BaseParser

import storage.atomic_limits
from accounts.keys.principal import Principal
from api.rate_limit import KeyRateLimiter
from channels.waiting import outcome_signals, wakeups
from config import health as health_endpoints
from links.clicks import counting, stream
from links.clicks.buffer import STREAM, ClickBuffer
from operator_admin.doctor import processes, stores
from storage.atomic_limits import LimiterDownError, Window
from storage.redis_client import (
    blocking_call,
    blocking_redis_client,
    call,
    raise_if_demoted,
    redis_client,
)
from storage.redis_connections import ServerRefusalError, _is_refusal
from tests.api.races import at_once
from tests.stack.programs import wait_until

parse_error: Any = BaseParser.parse_error  # not typed
NOBODY = ("127.0.0.1", "1")  # a master that is not there
Refuse = Callable[[], None]


def obey() -> None:
    _operator().replicaof("NO", "ONE")
    _operator().config_set("replica-serve-stale-data", "yes")
    _operator().acl_setuser("default", enabled=True, nopass=True, categories=["+@all"])
    storage.atomic_limits._back_off.reset()


def become_replica() -> None:
    _operator().replicaof(*NOBODY)


def become_replica_without_data() -> None:
    _operator().config_set("replica-serve-stale-data", "no")
    become_replica()


def take_rights_away() -> None:
    _operator().acl_setuser("default", enabled=True, nopass=True, categories=["-@all"])


def _operator() -> redis.Redis:
    return redis.Redis.from_url(settings.REDIS_URL, username="operator", password="x")


@pytest.fixture(autouse=True)
def operator() -> Iterator[None]:
    everything: dict[str, Any] = {"keys": ["*"], "channels": ["*"], "categories": ["+@all"]}
    redis_client().acl_setuser("operator", enabled=True, passwords=["+x"], **everything)
    yield
    obey()
    redis_client().acl_deluser("operator")


@pytest.fixture(params=[become_replica, become_replica_without_data, take_rights_away])
def refuse(request: pytest.FixtureRequest) -> Refuse:
    result: Refuse = request.param
    return result


def count_send() -> bool:
    try:
        storage.atomic_limits.acquire([Window(f"w{uuid4()}", 1, 60)])
    except LimiterDownError:
        return False
    return True


def count_request() -> bool:
    principal: Principal = SimpleNamespace(key_id=uuid4().int, api_rate=1)  # type: ignore[assignment]
    return KeyRateLimiter().count(principal) is not None


def flush_clicks() -> bool:
    buffer = ClickBuffer()
    buffer._clicks.append(("0" * 32, "person", 0, "", "", ""))  # type: ignore[arg-type]
    return buffer.flush()


def read_clicks() -> bool:
    try:
        counting.CONSUMER.read(">")
    except redis.ConnectionError:
        return False
    return True


def block() -> bool:
    try:
        blocking_redis_client().blpop(["nothing"], timeout=0.01)
    except redis.ConnectionError:
        return False
    return True


def block_on_a_kept_connection() -> bool:
    try:
        blocking_call("BLPOP", "nothing", "0.01")
    except redis.ConnectionError:
        return False
    return True


def publish_broker_task() -> bool:
    try:
        with current_app.connection_for_write(connect_timeout=1) as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, timeout=1)
            with connection.SimpleQueue("refusals") as queue:
                queue.put("x")
                queue.queue.delete()
    except (OperationalError, redis.ConnectionError):
        return False
    return True


USERS: list[Callable[[], bool]] = [
    wakeups.wake_now,
    count_send,
    count_request,
    flush_clicks,
    read_clicks,
    block,
    block_on_a_kept_connection,
    publish_broker_task,
    lambda: stores.redis().ok,
    lambda: health_endpoints._redis() == "ok",
]


@pytest.mark.parametrize("use", USERS)
def test_refusal_counts_as_absence_and_ends_with_it(
    use: Callable[[], bool], refuse: Refuse
) -> None:
    assert use()
    refuse()

    refused = [use(), use()]
    obey()

    assert refused == [False, False]
    assert use()


def test_doctor_sees_a_broker_that_refuses() -> None:
    become_replica()

    assert not processes.broker().ok


@pytest.mark.parametrize("refuse_reads", [become_replica_without_data, take_rights_away])
def test_lag_is_unknown_while_redis_refuses(refuse_reads: Refuse) -> None:
    blocking_redis_client().delete(STREAM)
    assert stream.lag_seconds() == 0.0

    refuse_reads()

    assert stream.lag_seconds() is None


def test_one_refusal_drops_all_connections() -> None:
    """Each of them would otherwise fail once: the calls of 64 threads, and the pools'."""
    barrier = threading.Barrier(8)

    def work() -> list[object]:
        call("SET", "before", 1)
        barrier.wait()
        if barrier.wait() == 0:
            become_replica()
            with pytest.raises(ServerRefusalError):
                call("SET", "during", 1)
            obey()
        barrier.wait()
        return [call("SET", "after", 1), redis_client().set("after", 1)]

    assert at_once([work] * 8) == [[b"OK", True]] * 8


def test_subscriber_leaves_a_master_that_became_a_replica() -> None:
    outcome_signals._is_listening()
    assert wait_until_listening(listening=True)

    become_replica()
    assert wait_until_listening(listening=False)
    obey()

    assert wait_until_listening(listening=True)


def wait_until_listening(*, listening: bool) -> bool:
    wait_until(lambda: outcome_signals._connected.is_set() is listening)
    return True


def test_scripts_refusal_is_recognised_in_every_version() -> None:
    """Redis 6 wraps a script's error, Redis 7 does not."""
    become_replica()

    with pytest.raises(ServerRefusalError):
        call("EVAL", "return redis.call('SET', KEYS[1], 1)", 1, "key")


def test_role_may_be_forbidden() -> None:
    """A user with few rights is served: a refused write tells a replica, too."""
    _operator().acl_setuser(
        "default", enabled=True, nopass=True, categories=["+@all"], commands=["-role"]
    )
    redis_client.cache_clear()

    raise_if_demoted()
    assert redis_client().set("key", 1)
    become_replica()

    with pytest.raises(ServerRefusalError):
        redis_client().set("key", 1)


@pytest.mark.parametrize(
    "reply",
    [
        "READONLY You can't write against a read only replica.",
        "ERR Error running script: @user_script: 1: -READONLY You can't write against",
        "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
        "CLUSTERDOWN Hash slot not served",
        "NOREPLICAS Not enough good replicas to write.",
        "UNBLOCKED force unblock from blocking operation, instance state changed",
        "NOPERM this user has no permissions to run the 'set' command",
    ],
)
def test_replies_of_a_server_that_refuses(reply: str) -> None:
    assert _is_refusal(parse_error(reply))


@pytest.mark.parametrize("reply", ["ERR unknown command", "WRONGTYPE Operation", "OOM command"])
def test_other_errors_are_the_commands_own(reply: str) -> None:
    assert not _is_refusal(parse_error(reply))


@pytest.mark.parametrize("is_collected", [False, True])
def test_use_of_a_closed_broker_reconnects_the_worker(is_collected: bool) -> None:
    """The error on which a worker reconnects; any other ends it."""
    broker = current_app.connection_for_read()
    channel: Any = broker.default_channel
    if is_collected:
        broker.collect()
    else:
        channel.connection.client = None

    with pytest.raises(broker.connection_errors):
        channel._get_pool()
