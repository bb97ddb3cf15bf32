"""The master of a Sentinel group is killed, and hangs, under load."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import redis

from tests.redis_servers import SentinelGroup, sentinel_group
from tests.stack.concurrent_clients import CLIENTS, ConcurrentClients
from tests.stack.paused_process import paused
from tests.stack.programs import wait_until
from tests.stack.stack import Outcome, Stack

DELIVERED = Outcome(["delivered"], charged=1, copies=1)
FAILOVER = 15.0  # seconds until limits are counted again: usually three
RECOVERY = 45.0  # seconds until Celery is back: its pauses grow


@pytest.fixture
def group(stack: Stack, tmp_path: Path) -> Iterator[SentinelGroup]:
    """The programs that use Redis, on their own group."""
    with sentinel_group(tmp_path) as running:
        _restart(stack, REDIS_URL=running.url, CELERY_BROKER_URL="")
        yield running
        _restart(stack)
    stack.recover()
    stack.new_errors()  # those about the lost master are allowed


def _restart(stack: Stack, **environ: str) -> None:
    users = (stack.worker, stack.beat, stack.web)
    for program in users:
        program.kill()
        program.launch(**environ)
    for program in users:
        program.wait_ready()


@pytest.mark.timeout(240)  # two more starts of everything than other tests
@pytest.mark.parametrize("way", ["killed", "hanging"])
def test_lost_master_loses_no_send(stack: Stack, group: SentinelGroup, way: str) -> None:
    sender = stack.sender(api_rate=1_000_000)
    old = group.master
    pids = [program.running.pid for program in stack.programs]

    with ConcurrentClients(stack, sender) as crowd, ExitStack() as held:
        wait_until(lambda: crowd.count()["follow"] >= CLIENTS)
        lost_at = time.monotonic()
        asked = crowd.count()
        if way == "killed":
            old.kill()
        else:
            held.enter_context(paused(old.pid))
        _wait_for_failover(group.other_than(old).client, crowd)
        seconds = time.monotonic() - lost_at
        answered = crowd.count() - asked

    assert seconds < RECOVERY
    assert min(answered[call] for call in ("send", "verify", "shorten", "follow")) >= CLIENTS
    assert crowd.failures == []
    assert [program.running.pid for program in stack.programs] == pids
    assert all(program.running.poll() is None for program in stack.programs)
    assert stack.endings(crowd.phones) == [DELIVERED] * len(crowd.phones)
    assert sender.balance()[1] == 0


def _wait_for_failover(client: redis.Redis, crowd: ConcurrentClients) -> None:
    """Until sends are counted in the new master, outcomes heard, and both wake-ups awaited."""
    known = set(client.scan_iter("send:*"))
    lost_at = time.monotonic()
    wait_until(lambda: set(client.scan_iter("send:*")) > known, FAILOVER)
    wait_until(
        lambda: (
            crowd.has_sends_answered_since(lost_at)
            and {connection["cmd"] for connection in client.client_list()} >= {"blpop", "brpop"}
        ),
        RECOVERY,
        on_timeout=client.client_list,
    )
