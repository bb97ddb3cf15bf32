"""What each drill loses, for how long, and what is promised meanwhile."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter

import redis

from tests.stack.programs import Program
from tools.drills.stack import RESTART_AFTER, Stack

EVERY_CHANNEL = ("whatsapp", "telegram", "sms")
START = 45.0  # seconds that a killed process may take to serve again, on a busy machine
NOBODY = ("127.0.0.1", "1")
RECONNECTED = 10.0  # seconds after a database is back, on a busy machine
UNNOTICED = 5.0  # seconds that the loss of another part may cost


@dataclass(frozen=True)
class Scenario:
    what: str
    lose: Callable[[Stack], None]
    regain: Callable[[Stack], None]
    away: float  # seconds
    max_silence: float  # seconds without an answer to a send
    max_delivery: float  # seconds until a message accepted after the loss is on its phone
    channels: tuple[str, ...] = EVERY_CHANNEL
    has_sentinels: bool = False
    has_smpp: bool = False


def _process(name: str, what: str, **bounds: float) -> Scenario:
    """Killed, and started again as soon as our units would."""
    program: Callable[[Stack], Program] = attrgetter(name)
    return Scenario(
        what,
        lambda stack: stack.lose(program(stack)),
        lambda stack: stack.regain(program(stack)),
        RESTART_AFTER,
        max_silence=bounds.get("max_silence", UNNOTICED),
        max_delivery=bounds.get("max_delivery", START),
        channels=("sms",) if name == "smpp" else EVERY_CHANNEL,
        has_smpp=name == "smpp",
    )


def _kill_master(stack: Stack) -> None:
    assert stack.sentinels is not None  # noqa: S101 - this scenario has them
    stack.sentinels.master.kill()


def _follow(stack: Stack, host: str, port: str) -> None:
    with redis.Redis.from_url(stack.redis.url) as client:
        client.replicaof(host, port)


def _stay(_stack: Stack) -> None:
    """The Sentinels replace what was lost."""


SCENARIOS = {
    "redis": Scenario(
        "Redis killed, back empty after 10 s",
        lambda stack: stack.redis.forget(),
        lambda stack: stack.redis.start(),
        10.0,
        max_silence=UNNOTICED,
        max_delivery=UNNOTICED,
    ),
    "redis-replica": Scenario(
        "Redis turned into a replica of nobody for 10 s",
        lambda stack: _follow(stack, *NOBODY),
        lambda stack: _follow(stack, "NO", "ONE"),
        10.0,
        max_silence=UNNOTICED,
        max_delivery=UNNOTICED,
    ),
    "redis-failover": Scenario(
        "the master of a Sentinel group killed",
        _kill_master,
        _stay,
        0.0,
        max_silence=UNNOTICED,
        max_delivery=UNNOTICED,
        has_sentinels=True,
    ),
    "postgres": Scenario(
        "PostgreSQL killed, back after 10 s",
        lambda stack: stack.postgres.kill(),
        lambda stack: stack.postgres.start(),
        10.0,
        max_silence=10.0 + RECONNECTED,
        max_delivery=10.0 + RECONNECTED,
    ),
    "web": _process("web", "the only web server killed, back at once", max_silence=START),
    "worker": _process("worker", "the only worker killed, back at once"),
    "beat": _process("beat", "the beat killed, back at once", max_delivery=UNNOTICED),
    "smpp": _process("smpp", "the SMPP process killed, back at once"),
}
