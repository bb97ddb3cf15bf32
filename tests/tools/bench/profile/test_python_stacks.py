"""Sampled stacks: a function that burns CPU is found under its cause and its activity."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.environment.variables import ROOT
from tools.bench.profile import python_stacks, windows
from tools.bench.profile.python_stacks import Control, Frame

SITE = "/venv/lib/python3.11/site-packages"
BURN = """
import json, threading, time
def encode():
    json.dumps(list(range(2000)), indent=1)
def burn(seconds, work):
    until = time.thread_time() + seconds
    while time.thread_time() < until: work()
def claim():
    burn(0.2, lambda: sum(range(2000)))
def rounds():
    while True:
        burn(0.6, encode)
        claim()
threading.Thread(target=rounds).start()
"""


@pytest.fixture
def control(tmp_path: Path) -> Control:
    return Control(tmp_path / "profile")


@pytest.fixture
def burning(control: Control, tmp_path: Path) -> Iterator[int]:
    """A process whose thread spends three quarters of its CPU on JSON, a quarter in psycopg."""
    package = tmp_path / "site-packages" / "psycopg"
    package.mkdir(parents=True)
    script = package / "burning.py"
    script.write_text(BURN)
    environ = {"PATH": os.environ["PATH"], "PGAPPNAME": "worker"} | control.environ()
    with subprocess.Popen([sys.executable, str(script)], env=environ) as process:
        while not control.pids():
            time.sleep(0.01)
        yield process.pid
        process.kill()


def burn(pid: int, seconds: float) -> float:
    """Waits until the process has used so much CPU, on a busy machine as well; returns how much."""
    before = windows.cpu_seconds(pid)
    while (spent := windows.cpu_seconds(pid) - before) < seconds:
        time.sleep(0.01)
    return spent


def test_burning_function_is_found_under_its_cause(control: Control, burning: int) -> None:
    control.command("sample", str(python_stacks.INTERVAL))
    start = control.positions()
    spent = burn(burning, 2.0)
    control.command("rest")
    control.keep(start)

    samples = python_stacks.counted(control.stacks({burning: "worker"})["worker"])

    found = {cause: samples["other", cause] / samples.total() for cause in ("JSON", "psycopg")}
    assert samples.total() * python_stacks.INTERVAL / 1000 == pytest.approx(spent, rel=0.15)
    assert found["JSON"] == pytest.approx(0.75, abs=0.12)
    assert sum(found.values()) > 0.97


def test_process_rests_when_told_to(control: Control, burning: int) -> None:
    control.command("sample", str(python_stacks.INTERVAL))
    time.sleep(0.3)
    control.command("rest")

    before = control.positions()
    time.sleep(0.3)

    assert min(before.values()) > 1000
    assert control.positions() == before


def test_samples_of_a_round_that_failed_are_not_kept(control: Control, burning: int) -> None:
    control.command("sample", str(python_stacks.INTERVAL))
    burn(burning, 0.5)
    start = control.positions()
    burn(burning, 0.1)
    control.command("rest")
    control.keep(start)

    kept = control.stacks({burning: "worker"})["worker"]

    assert 5 < len(kept) < 60


def test_frames_of_a_dump_are_read_in_their_order() -> None:
    lines = ['  File "/a/b c.py", line 7 in run', '  File "<string>", line 1 in f']
    text = "\n".join([python_stacks.HEADER, *lines, ""])

    found = list(python_stacks.parse(text * 2))

    assert found == [[Frame("/a/b c.py", 7, "run"), Frame("<string>", 1, "f")]] * 2


@pytest.mark.parametrize(
    ("files", "cause"),
    [
        ([f"{SITE}/psycopg/cursor.py", f"{ROOT}/otp/send.py"], "psycopg"),
        ([f"{SITE}/psycopg_pool/pool.py"], "connection pool"),
        ([f"{python_stacks._LIBRARY}socket.py", f"{SITE}/redis/connection.py"], "Redis client"),
        ([f"{python_stacks._LIBRARY}json/encoder.py", f"{ROOT}/otp/send.py"], "JSON"),
        ([f"{python_stacks._LIBRARY}uuid.py", f"{ROOT}/catalogue/ids.py"], python_stacks.OURS),
        (["<string>", f"{ROOT}/channels/models/messages.py"], python_stacks.OURS),
        ([f"{ROOT}/processes/server/gateway.py"], "HTTP server"),
        ([f"{SITE}/kombu/entity.py"], "Celery and kombu"),
        ([f"{SITE}/dateutil/tz.py"], "package dateutil"),
        ([], python_stacks.NO_FRAME),
    ],
)
def test_cause_is_who_called_the_standard_library(files: list[str], cause: str) -> None:
    assert python_stacks.cause([Frame(file, 1, "f") for file in files]) == cause


def test_every_activity_is_a_function_of_the_service() -> None:
    for file, function, _name in python_stacks.ACTIVITIES:
        if not file.startswith(("celery", "kombu")):
            source = (ROOT / file).read_text(encoding="utf-8")
            assert f"def {function}" in source, f"{file} has no {function}"


def test_innermost_activity_does_not_hide_the_view() -> None:
    send = Frame(f"{ROOT}/channels/web/send_view.py", 43, "post")
    gateway = Frame(f"{ROOT}/processes/server/gateway.py", 119, "_handle_frame")

    assert python_stacks.activity([Frame("/x.py", 1, "f"), send, gateway]) == "send"
    assert python_stacks.activity([gateway]) == "HTTP"
