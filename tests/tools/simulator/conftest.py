"""Simulators, shared and of one test, and receivers of their webhooks."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
import requests

from tests.tools.simulator.peers import Receiver, Simulator

NUMBERS = count(77010000001)


@pytest.fixture(scope="session")
def shared_receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture(scope="session")
def shared_simulator(
    shared_receiver: Receiver, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Simulator]:
    log = tmp_path_factory.mktemp("simulator") / "deep" / "log.sqlite3"
    simulator = Simulator(log, shared_receiver.url)
    yield simulator
    simulator.close()


@pytest.fixture
def receiver(shared_receiver: Receiver) -> Iterator[Receiver]:
    yield shared_receiver
    shared_receiver.status = 200


@pytest.fixture
def simulator(shared_simulator: Simulator) -> Iterator[Simulator]:
    yield shared_simulator
    requests.delete(f"{shared_simulator.url}/faults", timeout=5)


@pytest.fixture
def own_receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture
def own_simulator(own_receiver: Receiver, tmp_path: Path) -> Iterator[Simulator]:
    """One to be killed and restarted."""
    simulator = Simulator(tmp_path / "log.sqlite3", own_receiver.url)
    yield simulator
    simulator.close()


@pytest.fixture
def phone() -> str:
    """A phone that no other test writes to."""
    return str(next(NUMBERS))
