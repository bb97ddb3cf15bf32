"""The timeline of a message: steps of real processes, merged by medians."""

import importlib
import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from tools.bench.profile import python_stacks, timeline
from tools.bench.profile.python_stacks import Control
from tools.bench.profile.statements import StatementNames
from tools.bench.profile.timeline import Event, Step, Timeline

WORKER = """
import time
from processes.outbox_loop import OutboxLoop
loop = OutboxLoop("delivery", 1)
print("ready", flush=True)
while True:
    loop.call(time.sleep, 0.01)
    time.sleep(0.05)
"""


def _steps_module() -> ModuleType:
    path = Path(python_stacks.INSIDE, "steps.py")
    spec = importlib.util.spec_from_file_location("steps", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_step_is_a_function_that_exists() -> None:
    for name, steps in _steps_module().STEPS.items():
        module = importlib.import_module(name)
        for path in steps:
            owner, _, function = path.rpartition(".")
            found = getattr(module, owner) if owner else module
            assert callable(getattr(found, function, None)), f"{name} has no {path}"


def test_steps_of_a_running_process_are_noted(tmp_path: Path) -> None:
    control = Control(tmp_path / "profile")
    environ = {"PATH": os.environ["PATH"], "PGAPPNAME": "worker"} | control.environ()
    environ["PYTHONPATH"] += f":{Path(__file__).parents[4]}"
    command = [sys.executable, "-c", WORKER]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        began = time.perf_counter()
        control.command("trace")
        time.sleep(0.5)
        control.command("finish")
        ended = time.perf_counter()
        process.kill()

    steps = json.loads(control.steps()[process.pid])

    assert {label for *_, label in steps} == {"call returns"}
    assert len(steps) >= 4
    assert all(began < start <= end < ended for start, end, *_ in steps)


def test_steps_are_medians_since_each_request_was_sent() -> None:
    def event(began: float, ended: float, label: str) -> Event:
        return Event(began, ended, "worker", "delivery", label)

    spans = [(10.0, 10.1), (20.0, 20.1), (30.0, 30.1)]
    found = [
        event(10.010, 10.020, "claim"),
        event(10.030, 10.032, "claim"),
        event(15.000, 15.001, "claim"),  # between two messages
        event(20.012, 20.020, "claim"),
        event(30.014, 30.040, "claim"),
        event(30.050, 30.060, "rare"),
    ]

    (step,) = timeline.steps(spans, found)

    assert step[2:] == ("worker", "delivery", "claim", 1)
    assert step[:2] == pytest.approx((12, 20))


def test_text_has_a_line_for_each_step() -> None:
    step = Step(1.5, 4.0, "worker", "delivery", "channels.sql.CLAIM", 0.9)

    lines = timeline.text(Timeline([step], [16.0, 15.0])).splitlines()

    assert lines[2].split() == [
        "1.50",
        "4.00",
        "2.50",
        "worker",
        "delivery",
        "channels.sql.CLAIM",
        "(90%)",
    ]
    assert lines[3] == "answered: 15.00 in the fastest quarter; of all p50 15.00, p99 16.00"


def test_fastest_quarter_is_kept() -> None:
    spans = [(float(n), n + n / 100) for n in range(1, 9)]

    assert timeline.fastest(spans) == spans[:2]
    assert timeline.fastest(spans[3:4]) == spans[3:4]


def test_statements_of_events_have_names(tmp_path: Path) -> None:
    control = Control(tmp_path / "profile")
    noted = [[1.0, 2.0, "Dummy-3", "SQL SELECT 1 FROM t WHERE a = %s"]]
    (tmp_path / "profile" / "7.steps").write_text(json.dumps(noted))
    names = StatementNames({"module.ONE": "SELECT 1 FROM t WHERE a = $1"})

    found = timeline.events(control, {7: "web 2"}, names)

    assert found == [Event(1.0, 2.0, "web", "requests", "module.ONE")]
