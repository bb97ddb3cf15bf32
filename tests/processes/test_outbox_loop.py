"""The loop that sends an outbox: when it wakes up, pauses and stops."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from processes import outbox_loop
from processes.outbox_loop import OutboxLoop, write_in_batches
from tests.stack.programs import wait_until

pytestmark = pytest.mark.django_db  # a loop closes its connection


class Counting:
    """An outbox without a database that counts its calls."""

    def __init__(self, pause: float = 600.0) -> None:
        self.loop = OutboxLoop[int]("counting", threads=2)
        self.rounds = 0
        self.recorded = list[int]()
        self.failures: list[Exception] = []
        self._pause = pause

    def start_round(self) -> None:
        self.rounds += 1
        self.record()

    def record(self) -> None:
        if self.failures:
            raise self.failures.pop()
        self.recorded += self.loop.returned()

    def run(self) -> None:
        self.loop.run(self.start_round, self.record, lambda: self._pause)


@contextmanager
def running(outbox: Counting) -> Iterator[None]:
    thread = threading.Thread(target=outbox.run)
    thread.start()
    try:
        yield
    finally:
        outbox.loop.stop()
        thread.join(25)
    assert not thread.is_alive()


def test_outcome_starts_a_round() -> None:
    outbox = Counting()

    with running(outbox):
        outbox.loop.call(lambda: 7)
        wait_until(lambda: outbox.recorded == [7])


class WakingItself(Counting):
    def start_round(self) -> None:
        super().start_round()
        if self.rounds == 1:
            self.loop.wake()


def test_wake_up_during_a_round_starts_another() -> None:
    outbox = WakingItself()

    with running(outbox):
        wait_until(lambda: outbox.rounds == 2)


def test_round_follows_a_pause_without_a_wake_up() -> None:
    outbox = Counting(pause=0.01)

    with running(outbox):
        wait_until(lambda: outbox.rounds >= 3)


def test_error_ends_neither_the_loop_nor_an_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox_loop, "ERROR_PAUSE", 0.01)
    outbox = Counting(pause=0.01)
    outbox.failures = [KeyError("outcome of an unknown call"), ValueError("broken")]
    outbox.loop.add(7)

    with running(outbox):
        wait_until(lambda: outbox.recorded == [7])


def test_stop_waits_for_calls_and_records_their_outcomes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox_loop, "ERROR_PAUSE", 0.01)
    outbox = Counting()

    with running(outbox):
        wait_until(lambda: outbox.rounds == 1)
        outbox.loop.call(_after(0.2, 7))
        outbox.failures = [ConnectionError("for a moment")]

    assert outbox.recorded == [7]


def _after(seconds: float, outcome: int) -> Callable[[], int]:
    def call() -> int:
        time.sleep(seconds)
        return outcome

    return call


def test_unwritten_batch_stays_on_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox_loop, "BATCH_SIZE", 2)
    unwritten = [1, 2, 3, 4, 5]
    written = list[list[int]]()

    def write(batch: list[int]) -> None:
        if batch == [3, 4] and len(written) == 1:
            written.append([])
            raise ConnectionError
        written.append(batch)

    with pytest.raises(ConnectionError):
        write_in_batches(unwritten, write)
    assert unwritten == [3, 4, 5]
    write_in_batches(unwritten, write)

    assert (written, unwritten) == ([[1, 2], [], [3, 4], [5]], [])
