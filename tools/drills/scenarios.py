"""What each drill loses, for how long, and what is promised meanwhile."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import redis

from tests.stack.programs import Program
from tools.chaos.fault_injector import FaultInjector
from tools.chaos.stack import Stack

EVERY_CHANNEL = ("whatsapp", "telegram", "sms")
RESTART_AFTER = 1.0  # seconds, as RestartSec= of our units
START = 45.0  # seconds that a killed process may take to serve again, on a busy machine
RECONNECTED = 10.0  # seconds after a database is back, on a busy machine
UNNOTICED = 5.0  # seconds that the loss of another part may cost
NOBODY = ("127.0.0.1", "1")


@dataclass(frozen=True)
class Scenario:
    what: str
    lose: Callable[[Stack, FaultInjector], object]
    regain: Callable[[Stack], object] = lambda _stack: None
    away: float = 10.0  # seconds
    max_silence: float = UNNOTICED  # seconds without an answer to a send
    max_delivery: float = UNNOTICED  # seconds until a message of after the loss is on its phone
    channels: tuple[str, ...] = EVERY_CHANNEL
    has_sentinels: bool = False
    has_smpp: bool = False


def _process(name: str, what: str, **more: Any) -> Scenario:
    """Killed, and started again as soon as our units would."""
    program: Callable[[Stack], Program] = attrgetter(name)
    return Scenario(
        f"{what} killed, back at once",
        lambda stack, injector: injector.kill_now(program(stack), RESTART_AFTER),
        away=RESTART_AFTER,
        **{"max_delivery": START, **more},
    )


def _kill_master(stack: Stack, _injector: FaultInjector) -> None:
    assert stack.sentinels is not None  # noqa: S101 - this scenario has them
    stack.sentinels.master.kill()


def _follow(stack: Stack, host: str, port: str) -> None:
    with redis.Redis.from_url(stack.redis.url) as client:
        client.replicaof(host, port)


SCENARIOS = {
    "redis": Scenario(
        "Redis killed, back empty after 10 s",
        lambda stack, _injector: stack.redis.forget(),
        lambda stack: stack.redis.start(),
    ),
    "redis-replica": Scenario(
        "Redis turned into a replica of nobody for 10 s",
        lambda stack, _injector: _follow(stack, *NOBODY),
        lambda stack: _follow(stack, "NO", "ONE"),
    ),
    "redis-failover": Scenario(
        "the master of a Sentinel group killed", _kill_master, away=0.0, has_sentinels=True
    ),
    "postgres": Scenario(
        "PostgreSQL killed, back after 10 s",
        lambda stack, _injector: stack.postgres.kill(),
        lambda stack: stack.postgres.start(),
        max_silence=10.0 + RECONNECTED,
        max_delivery=10.0 + RECONNECTED,
    ),
    "web": _process("web", "the only web server", max_silence=START),
    "worker": _process("worker", "the only worker"),
    "beat": _process("beat", "the beat", max_delivery=UNNOTICED),
    "smpp": _process("smpp", "the SMPP process", channels=("sms",), has_smpp=True),
}
