"""Redis answers, and refuses: it became a replica, lost its master, or lets us do nothing."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
import redis

from channels.waiting.outcome_signals import PUBSUB_CHANNEL
from config.local.processes import last_lines
from tests.stack.concurrent_clients import CLIENTS, ConcurrentClients
from tests.stack.programs import wait_until
from tests.stack.sender import Sender
from tests.stack.stack import Outcome, Stack

DELIVERED = Outcome(["delivered"], charged=1, copies=1)
NOBODY = ("127.0.0.1", "1")  # a master that is not there
REFUSING_SECONDS = 10.0  # a worker that does not survive ends within four
RECOVERY_SECONDS = 40.0  # Celery's pauses between two tries to connect grow to half a minute

Refuse = Callable[[redis.Redis], object]


@pytest.fixture(autouse=True)
def recovery(stack: Stack) -> Iterator[None]:
    """Recover for the next test; errors about a lost store are allowed."""
    yield
    stack.recover()
    stack.new_errors()


@pytest.fixture
def redis_operator(stack: Stack) -> Iterator[redis.Redis]:
    """A connection whose rights nobody takes away; afterwards Redis refuses nothing."""
    with redis.Redis.from_url(stack.redis.url) as client:
        client.acl_setuser(
            "operator",
            enabled=True,
            passwords=["+x"],
            keys=["*"],
            channels=["*"],
            categories=["+@all"],
        )
    with redis.Redis.from_url(stack.redis.url, username="operator", password="x") as client:
        yield client
        obey(client)
        client.acl_deluser("operator")


def become_replica(client: redis.Redis) -> None:
    client.replicaof(*NOBODY)


def become_replica_without_data(client: redis.Redis) -> None:
    client.config_set("replica-serve-stale-data", "no")
    client.replicaof(*NOBODY)


def take_rights_away(client: redis.Redis) -> None:
    client.acl_setuser("default", enabled=True, nopass=True, categories=["-@all"])


def ask_for_a_password(client: redis.Redis) -> None:
    client.acl_setuser("default", enabled=False, passwords=["+other"])
    for connection in client.client_list():
        if connection["user"] == "default":
            with suppress(redis.ResponseError):  # it left in the meantime
                client.client_kill_filter(_id=connection["id"])


def obey(client: redis.Redis) -> None:
    client.replicaof("NO", "ONE")
    client.config_set("replica-serve-stale-data", "yes")
    client.acl_setuser("default", enabled=True, nopass=True, categories=["+@all"])


@pytest.mark.parametrize(
    "refuse", [become_replica, become_replica_without_data, take_rights_away, ask_for_a_password]
)
def test_refusing_redis_ends_no_process_and_stops_no_delivery(
    stack: Stack, unlimited_sender: Sender, redis_operator: redis.Redis, refuse: Refuse
) -> None:
    before = [program.running.pid for program in stack.programs]

    with ConcurrentClients(stack, unlimited_sender) as crowd:
        wait_until(lambda: crowd.count()["verify"] >= CLIENTS)
        refuse(redis_operator)
        asked = crowd.count()
        time.sleep(REFUSING_SECONDS)
        refused = crowd.count() - asked
        exits = [program.running.poll() for program in stack.programs]
        obey(redis_operator)
        if not any(exits):
            _wait_until_used_again(stack, redis_operator, crowd)

    assert exits == [None] * len(stack.programs), [
        last_lines(program.log, 40)
        for program, code in zip(stack.programs, exits, strict=True)
        if code
    ]
    assert [program.running.pid for program in stack.programs] == before
    assert min(refused[call] for call in ("send", "verify", "shorten", "follow")) >= CLIENTS
    assert crowd.failures == []
    assert stack.endings(crowd.phones) == [DELIVERED] * len(crowd.phones)
    assert unlimited_sender.balance()[1] == 0


def _wait_until_used_again(stack: Stack, client: redis.Redis, crowd: ConcurrentClients) -> None:
    """Waits until web hears outcomes, the worker wake-ups, and tasks are taken from the broker."""
    back_at = time.monotonic()
    wait_until(
        lambda: crowd.has_sends_answered_since(back_at) and _blocked(client) == {"blpop", "brpop"},
        RECOVERY_SECONDS,
        on_timeout=lambda: (_blocked(client), client.pubsub_numsub(PUBSUB_CHANNEL)),
    )


def _blocked(client: redis.Redis) -> set[str]:
    """The commands by which the worker waits: for wake-ups, and for Celery's tasks."""
    return {connection["cmd"] for connection in client.client_list()} & {"blpop", "brpop"}
