"""Threads in the background: runs that are triggered, and runs at intervals."""

import threading
import time

import pytest

from processes.background import CoalescingThread, PeriodicThread
from tests.stack.programs import wait_until


def test_many_triggers_share_few_runs_and_none_is_lost() -> None:
    triggers: list[int] = []
    runs: list[int] = []
    done = threading.Event()

    def work() -> bool:
        runs.append(len(triggers))
        if len(triggers) == 2000:
            done.set()
        return True

    thread = CoalescingThread("test", work)
    for number in range(2000):
        triggers.append(number)
        thread.trigger()

    assert done.wait(25)
    assert len(runs) < 200


def test_failed_run_is_followed_by_another() -> None:
    again = threading.Event()
    runs: list[int] = []

    def work() -> bool:
        runs.append(1)
        if len(runs) == 1:
            raise ValueError("broken")
        again.set()
        return True

    thread = CoalescingThread("test", work)
    thread.trigger()
    threading.Event().wait(0.05)
    thread.trigger()

    assert again.wait(25)


@pytest.mark.django_db  # the thread closes its connection
def test_periodic_thread_keeps_its_interval_and_survives_failures() -> None:
    runs: list[float] = []

    def work() -> None:
        runs.append(time.monotonic())
        raise ValueError("broken")

    thread = PeriodicThread("test", work, 0.05)
    thread.start()
    wait_until(lambda: len(runs) >= 3)
    thread.stop()

    assert runs[2] - runs[0] >= 0.1


@pytest.mark.django_db
def test_stopped_periodic_thread_ends() -> None:
    thread = PeriodicThread("test", lambda: None, 60.0)
    runner = threading.Thread(target=thread.run)
    runner.start()

    thread.stop()
    runner.join(25)

    assert not runner.is_alive()
