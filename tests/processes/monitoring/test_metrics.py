"""Counting in processes that start, fork, are killed and are upgraded."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
from prometheus_client import Metric
from prometheus_client.multiprocess import MultiProcessCollector

from config.environment.variables import ROOT
from config.local.processes import last_lines
from tests.config.small_disk import small_disk
from tests.config.starting import GOOD
from tests.ports import free_port
from tests.stack.programs import Program

FIRST_CALLS_AT_ONCE = """
import sys, threading
from concurrent.futures import ThreadPoolExecutor
import django; django.setup()
from processes.monitoring import metrics
sys.setswitchinterval(1e-6)
barrier = threading.Barrier(16)
def count(number):
    barrier.wait(60)
    metrics.count_request("CheckCode", 200, 0.02)
    metrics.count_message("live", "sms", "delivered")
    metrics.count_call("twilio", "accepted", 0.3)
    metrics.count_trip("twilio", "calls")
    metrics.set_breaches("recent", 0)
with ThreadPoolExecutor(16) as pool:
    list(pool.map(count, range(16)))
"""

COUNT = """
import os, sys
import django; django.setup()
from processes.monitoring import metrics
metrics.count_request("CheckCode", 200, 0.02)
print("counted", flush=True)
sys.stdin.readline()
"""

FORK = """
import os
import django; django.setup()
from processes.monitoring import metrics
metrics.count_request("CheckCode", 200, 0.02)
child = os.fork()
if child:
    os.waitpid(child, 0)
for _ in range(500):
    metrics.count_request("CheckCode", 200, 0.02)
"""

# More series than one page of the file holds, each made when nothing can be written any more.
COUNT_ON_A_FULL_DISK = """
import os
import django; django.setup()
from django.conf import settings
from processes.monitoring import metrics
metrics.start()
with open(settings.METRICS_DIR / "rest", "wb", buffering=0) as rest:
    try:
        while rest.write(bytes(4096)):
            pass
    except OSError:
        pass
for status in range(200, 240):
    metrics.count_request("CheckCode", status, 0.02)
print("counted", flush=True)
"""

COUNTED = "kvitok_api_seconds_count['200', 'CheckCode']"


def environment(directory: Path, **changes: str) -> dict[str, str]:
    settings = {"METRICS_PORT": "1", "METRICS_DIR": str(directory), "LOG_LEVEL": "ERROR"}
    return GOOD | {"DJANGO_SETTINGS_MODULE": "config.settings"} | settings | changes


def run(code: str, directory: Path, **changes: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=ROOT,
        env=environment(directory, **changes),
        input="",
        text=True,
        capture_output=True,
        check=False,
    )


@contextmanager
def counting(directory: Path, **changes: str) -> Iterator[subprocess.Popen[str]]:
    """A process that has counted one request, and lives on until it is killed."""
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", COUNT],
        cwd=ROOT,
        env=environment(directory, **changes),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "counted\n"
        yield process
        process.kill()


def counts(directory: Path) -> dict[str, float]:
    """The sums of the only service that counts there."""
    return {name: value for sums in counts_by_service(directory) for name, value in sums.items()}


def counts_by_service(directory: Path) -> list[dict[str, float]]:
    collect: Any = MultiProcessCollector  # not typed
    services = sorted(path for path in directory.iterdir() if path.is_dir())
    return [_samples(collect(None, str(path)).collect()) for path in services]


def _samples(families: Iterable[Metric]) -> dict[str, float]:
    samples = [sample for family in families for sample in family.samples]
    return {f"{sample.name}{sorted(sample.labels.values())}": sample.value for sample in samples}


def files(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}


def test_first_counts_of_many_threads_are_all_counted(tmp_path: Path) -> None:
    counted = run(FIRST_CALLS_AT_ONCE, tmp_path)

    result = counts(tmp_path)
    assert counted.stderr == ""
    assert result[COUNTED] == 16
    assert result["kvitok_messages_total['delivered', 'live', 'sms']"] == 16
    assert result["kvitok_provider_seconds_count['accepted', 'twilio']"] == 16
    assert result["kvitok_breaker_trips_total['calls', 'twilio']"] == 16
    assert result["kvitok_ledger_breaches['recent']"] == 0


def test_first_requests_of_process_are_counted(tmp_path: Path) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    changes = {"METRICS_PORT": "1", "METRICS_DIR": str(tmp_path / "metrics"), "LOG_LEVEL": "ERROR"}
    command = ["-m", "config.web_server", "--host", "127.0.0.1", "--port", str(port)]
    program = Program(
        command, log=tmp_path / "web.log", environ=os.environ | changes, url=f"{url}/livez"
    )
    program.start()

    with ThreadPoolExecutor(32) as pool:
        responses = pool.map(lambda _: requests.get(f"{url}/api/v1/balance", timeout=20), range(32))
        statuses = [response.status_code for response in responses]
    program.terminate()
    program.wait_stopped()

    assert set(statuses) == {401}, last_lines(program.log, 20)
    result = counts(tmp_path / "metrics")
    assert result["kvitok_api_seconds_count['401', 'Balance']"] == 32


def test_next_process_goes_on_with_the_files_of_a_killed_one(tmp_path: Path) -> None:
    seen = []
    for lives in range(1, 4):
        with counting(tmp_path) as process:
            process.send_signal(signal.SIGKILL)
        seen.append(files(tmp_path))
        assert counts(tmp_path)[COUNTED] == lives

    assert seen[0] == seen[1] == seen[2]


def test_processes_alive_at_once_have_files_of_their_own(tmp_path: Path) -> None:
    with counting(tmp_path), counting(tmp_path), counting(tmp_path):
        result = counts(tmp_path)[COUNTED]
    alone = files(tmp_path)
    with counting(tmp_path):
        again = counts(tmp_path)[COUNTED]

    assert (result, again) == (3, 4)
    assert files(tmp_path) == alone


def test_forked_child_counts_beside_its_parent(tmp_path: Path) -> None:
    counted = run(FORK, tmp_path)

    assert counted.stderr == ""
    assert counts(tmp_path)[COUNTED] == 1 + 2 * 500


def test_other_service_on_machine_keeps_its_metrics(tmp_path: Path) -> None:
    with counting(tmp_path, SECRET_KEY="b" * 60):
        alive = files(tmp_path)
        with counting(tmp_path):
            pass
    dead = files(tmp_path)
    with counting(tmp_path):
        pass

    assert alive < dead == files(tmp_path)
    assert sorted(sums[COUNTED] for sums in counts_by_service(tmp_path)) == [1, 2]


def test_start_deletes_what_dead_processes_of_other_releases_left(tmp_path: Path) -> None:
    with counting(tmp_path), counting(tmp_path):
        first, second = sorted(tmp_path.rglob("counter_*.db"))
        old = [first.with_name("counter_0.0.1-0.db"), second.with_name("summary_0.0.1-1.db")]
        for file in old:
            file.write_bytes(first.read_bytes())
        with counting(tmp_path):
            while_they_live = [file.exists() for file in old]
    with counting(tmp_path):
        after = [file.exists() for file in old]

    assert while_they_live == [True, True]
    assert after == [False, False]
    assert counts(tmp_path)[COUNTED] == 4


def test_damaged_file_of_a_dead_process_is_replaced(tmp_path: Path) -> None:
    with counting(tmp_path):
        pass
    (file,) = tmp_path.rglob("histogram_*.db")
    file.write_bytes(b"\xff\x00\x00\x00" * 100)

    with counting(tmp_path):
        result = counts(tmp_path)

    assert result[COUNTED] == 1


def test_directory_that_cannot_be_written_fails_no_request(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")

    counted = run(COUNT, tmp_path / "taken")

    assert counted.returncode == 0
    assert counted.stdout.splitlines()[-1] == "counted"
    assert counted.stdout.count("metrics_not_written") + counted.stderr.count("metrics_not_written")


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system of its own")
def test_full_disk_kills_no_process_that_counts() -> None:
    """Writing to a page of a file that has no room on the disk would be a SIGBUS."""
    with small_disk("4m") as disk:
        counted = run(COUNT_ON_A_FULL_DISK, disk)

    assert (counted.returncode, counted.stdout.splitlines()) == (0, ["counted"])
