"""Describes the machine of the measurement."""

import os
import platform
import subprocess
import time
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

PACKAGES = ("Django", "djangorestframework", "granian", "psycopg", "redis", "celery", "orjson")


def describe(data: Path) -> dict[str, Any]:
    """`data` is where the database is: what a commit costs depends on it."""
    return {
        "machine": {
            "cores": os.cpu_count(),
            "processor": _processor(),
            "kernel": platform.release(),
            "memory_mb": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20,
            "fdatasync_us": round(_fdatasync(data)),
            "loop_ms": loop(),
            "load_before": os.getloadavg()[0],
        },
        "versions": {
            "python": platform.python_version(),
            "commit": _commit(),
            **{name: version(name) for name in PACKAGES},
        },
    }


def words(facts: dict[str, Any]) -> str:
    machine, versions = facts["machine"], facts["versions"]
    return (
        f"{machine['cores']} cores ({machine['processor']}),"
        f" a loop of Python {machine['loop_ms']} ms,"
        f" fdatasync {machine['fdatasync_us']} µs, load {machine['load_before']:.2f} before;"
        f" Python {versions['python']}, commit {versions['commit']}; client: {facts['client']}"
    )


def loop() -> float:
    """ms of a fixed piece of work, the best of five: how fast the processor is just now."""
    times = []
    for _ in range(5):
        started = time.perf_counter()
        sum(number * number for number in range(200_000))
        times.append(time.perf_counter() - started)
    return round(min(times) * 1000, 1)


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    named = [line for line in lines if line.startswith("model name")]
    return named[0].partition(":")[2].strip() if named else platform.machine()


def _commit() -> str:
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"],  # noqa: S607
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or "unknown"


def _fdatasync(place: Path) -> float:
    """The median of a hundred, in µs: the least a durable commit takes."""
    probe, times = place.parent / "probe", []
    with probe.open("wb", buffering=0) as file:
        for _ in range(100):
            file.seek(0)
            file.write(os.urandom(8192))
            started = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - started)
    probe.unlink()
    return median(times) * 1e6
