"""The CPU of other processes, to the nanosecond."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tools.bench import machine
from tools.bench.profile import windows
from tools.bench.profile.windows import Spent

BURN = """
import sys, threading, time
def burn():
    until = time.thread_time() + 0.3
    while time.thread_time() < until: sum(range(1000))
for _ in range(2):
    thread = threading.Thread(target=burn)
    thread.start()
    thread.join()
print("burnt", flush=True)
sys.stdin.read()
"""


def test_ended_threads_are_included_as_in_proc() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", BURN], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        found = windows.cpu_seconds(process.pid)
        stat = machine.parse_process(Path(f"/proc/{process.pid}/stat").read_text())
        process.communicate()

    assert found == pytest.approx(stat.own / machine.TICKS, abs=3 / machine.TICKS)
    assert 0.6 <= found < 1.2


def test_new_process_has_spent_all_that_it_has() -> None:
    names = {1: "web 1", 2: "postgres for web", 3: "postgres for web"}
    before = {1: Spent(5.0, 10), 2: Spent(1.0, 0)}
    after = {1: Spent(5.5, 14), 2: Spent(1.25, 0), 3: Spent(0.5, 2)}

    spent = windows.between(before, after, names)

    assert spent == {"web 1": Spent(0.5, 4), "postgres for web": Spent(0.75, 2)}


def test_switches_of_a_process_that_sleeps_are_counted() -> None:
    before = windows.reading({os.getpid(): "me"})
    for _ in range(20):
        time.sleep(0.001)
    spent = windows.between(before, windows.reading({os.getpid(): "me"}), {os.getpid(): "me"})

    assert spent["me"].switches >= 20


def test_process_that_has_ended_is_left_out() -> None:
    assert windows.reading({2**22 - 1: "nobody"}) == {}
