"""Figures read from /proc."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.bench import machine
from tools.bench.machine import Process, Snapshot

STAT = "17 (a b) c) S 4 17 17 0 -1 4194304 900 80 0 0 {own} {system} {buried} 5 20 0 9 0 100"


def test_process_name_may_contain_anything() -> None:
    assert machine.parse_process(STAT.format(own=30, system=12, buried=7)) == Process(4, 42, 12)


def test_the_machine_is_busy_with_interrupts_too_but_not_with_what_was_stolen() -> None:
    assert machine.parse_machine("cpu  10 2 30 400 5 60 70 8 9 0\ncpu0 1 1") == (172, 8)


def test_process_tree_includes_exited_children() -> None:
    known = {
        1: Process(0, 1000, 1000),
        10: Process(1, 5, 3),
        11: Process(10, 20, 0),
        12: Process(11, 100, 1),
        99: Process(1, 7, 7),
    }

    assert machine.ticks_of(10, known) == 129
    assert machine.ticks_of(77, known) == 0


def test_other_processes_use_the_rest_of_the_cpu() -> None:
    before = Snapshot(10.0, {"web": 0, "client": 50}, busy=1000, steal=0)
    after = Snapshot(12.0, {"web": 100, "client": 60}, busy=1000 + 110 + 40, steal=10)

    spent = machine.between(before, after)

    assert spent.groups == {"web": 100 / machine.TICKS, "client": 10 / machine.TICKS}
    assert spent.others == 40 / machine.TICKS / 2
    assert spent.steal == 10 / machine.TICKS / 2


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc here")
def test_cpu_time_of_a_reaped_child_counts() -> None:
    work = "import time\nwhile time.process_time() < 0.3: pass"
    before = machine.snapshot({"nobody": [], "tests": [os.getpid()]})

    subprocess.run([sys.executable, "-c", work], check=True)
    spent = machine.between(before, machine.snapshot({"nobody": [], "tests": [os.getpid()]}))

    assert spent.groups["nobody"] == 0
    assert spent.groups[machine.CLIENT] >= 0.25
    assert spent.groups["tests"] >= 0.25
