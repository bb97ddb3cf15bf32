"""Starts the measured programs with the same command lines as `make run`."""

import http.client
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from config.environment.variables import ROOT
from config.local.preflight import check_port
from config.local.processes import last_lines, signal_group, spawn
from tools.bench.load.generator import CannotMeasureError

PATIENCE = 60.0  # seconds until a program must answer
GRANIAN = {"interface": "wsgi", "workers": "2", "blocking-threads": "64", "backpressure": "2048"}
CELERY = ["-m", "celery", "-q", "-A", "config"]
WORKER = [*CELERY, "worker", "--pool", "threads", "--concurrency", "4"]
WORKER += ["--without-mingle", "--without-gossip", "--loglevel", "WARNING"]


def web(port: int) -> list[str]:
    """As `config.local.supervisor` starts it; a test holds the two together."""
    return ["-m", "config.web_server", "--host", "127.0.0.1", "--port", str(port), "--workers", "2"]


def granian(port: int, application: str) -> list[str]:
    """An application to compare ours with, under the server's own bridge."""
    options = GRANIAN | {"host": "127.0.0.1", "port": str(port)}
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    return ["-m", "granian", *words, "--no-ws", "--respawn-failed-workers", application]


def beat(place: Path) -> list[str]:
    files = ["--schedule", str(place / "beat-schedule"), "--pidfile="]
    return [*CELERY, "beat", *files, "--loglevel", "WARNING"]


@dataclass(frozen=True)
class Plan:
    """What to run, and how: two programs of the same plan are the same program."""

    command: tuple[str, ...]
    environ: tuple[tuple[str, str], ...] = ()  # beside what all of them get
    port: int | None = None  # where it listens


class Program:
    def __init__(self, plan: Plan, *, log: Path, environ: Mapping[str, str]) -> None:
        self.plan = plan
        self.log = log
        if plan.port is not None:
            # granian would share a taken port without a word, and half of the requests with it.
            check_port(log.stem, "127.0.0.1", plan.port)
        self.process = spawn(
            [sys.executable, *plan.command],
            log=log,
            die=signal.SIGTERM,  # killed outright, granian would leave its workers behind
            env=dict(environ) | dict(plan.environ),
            cwd=ROOT,
        )

    @property
    def pid(self) -> int:
        return self.process.pid

    def wait_ready(self) -> None:
        """A program without a port is ready when it is running; who needs it asks further."""
        deadline = time.monotonic() + PATIENCE
        while not self._is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                tail = " ".join(last_lines(self.log, 3))
                raise CannotMeasureError(f"{self.log.stem} does not start: {tail}")
            time.sleep(0.05)

    def stop(self) -> None:
        signal_group(self.process, signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            pass
        finally:
            signal_group(self.process, signal.SIGKILL)
            self.process.wait()

    def _is_ready(self) -> bool:
        return self.plan.port is None or _answers(self.plan.port)


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/livez")
        return connection.getresponse().status < 500
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def free_ports(many: int) -> Sequence[int]:
    """Ports nobody listens on, all different."""
    probes = [socket.socket() for _ in range(many)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports
