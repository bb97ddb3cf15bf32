"""Background work is coalesced, and survives failures."""

import threading

from config.background import CoalescingThread


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

    assert done.wait(2)
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

    assert again.wait(3)
