"""Work that follows a request: soon, together, and whatever happens."""

import threading

from config.background import Errand


def test_what_is_asked_for_together_is_done_together_and_none_is_forgotten() -> None:
    asked: list[int] = []
    runs: list[int] = []
    done = threading.Event()

    def work() -> bool:
        runs.append(len(asked))
        if len(asked) == 2000:
            done.set()
        return True

    errand = Errand("test", work)
    for number in range(2000):
        asked.append(number)
        errand.ask()

    assert done.wait(2)
    assert len(runs) < 200


def test_a_run_that_fails_is_not_the_last() -> None:
    again = threading.Event()
    runs: list[int] = []

    def work() -> bool:
        runs.append(1)
        if len(runs) == 1:
            raise ValueError("broken")
        again.set()
        return True

    errand = Errand("test", work)
    errand.ask()
    threading.Event().wait(0.05)
    errand.ask()

    assert again.wait(3)
