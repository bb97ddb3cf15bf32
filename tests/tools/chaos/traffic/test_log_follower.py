"""Whoever follows the simulator's log learns of each message once."""

from collections.abc import Iterator
from pathlib import Path
from queue import Queue

import pytest

from tools.chaos.client import Arrival, LogFollower
from tools.simulator.logs import MessageLog
from tools.simulator.messages import Message


@pytest.fixture
def log(tmp_path: Path) -> Iterator[MessageLog]:
    log = MessageLog(tmp_path / "simulator.sqlite3")
    yield log
    log.close()


def test_messages_arrive_once_and_in_order(log: MessageLog, tmp_path: Path) -> None:
    arrived: Queue[Arrival] = Queue()
    follower = LogFollower(tmp_path / "simulator.sqlite3", arrived.put)
    link = "https://kv.example/a"

    log.add(Message("sms", "smsc", "1", "79260000001", "Your code: 123456", "123456", []))
    follower.start()
    first = arrived.get(timeout=10)
    faults = {"faults": ["undelivered"]}
    log.add(Message("sms", "smsc", "2", "79260000002", link, None, [link], extra=faults))
    second = arrived.get(timeout=10)
    follower.close()

    assert first == Arrival(1, "+79260000001", "123456", [], [])
    assert second == Arrival(2, "+79260000002", None, [link], ["undelivered"])
    assert arrived.empty()
