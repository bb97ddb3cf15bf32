"""The programs of the service, with the command lines of `make run`, and what they need."""

import http.client
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import SystemRandom

from config.environment.variables import ROOT
from config.local.embedded import Servers
from config.local.preflight import check_port
from config.local.processes import StartError, last_lines, signal_group, spawn
from config.local.store_servers import Postgres, Redis

HOST = "127.0.0.1"
PATIENCE = 60.0  # seconds until a program must answer
# Below those that the system gives to outgoing connections: one of these would have the port before
# the server listens.
_PORTS = range(10_000, 32_000)
GRANIAN = {"interface": "wsgi", "workers": "2", "blocking-threads": "64", "backpressure": "2048"}
_CELERY = ["-m", "celery", "-q", "-A", "config"]


class CannotMeasureError(Exception):
    """Why there is no figure, in one line."""


def web(port: int) -> list[str]:
    """As `config.local.supervisor` starts it; a test holds the two together."""
    return ["-m", "config.web_server", "--host", HOST, "--port", str(port), "--workers", "2"]


def granian(port: int, application: str) -> list[str]:
    """An application to compare ours with, under the server's own bridge."""
    options = GRANIAN | {"host": HOST, "port": str(port)}
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    return ["-m", "granian", *words, "--no-ws", "--respawn-failed-workers", application]


def worker(name: str = "", *, level: str = "WARNING") -> list[str]:
    """At the level INFO it says when it is ready. Several on one machine need names."""
    threads = ["--pool", "threads", "--concurrency", "4"]
    quiet = ["--without-mingle", "--without-gossip", "--loglevel", level]
    named = ["--hostname", f"{name}@%h"] if name else []
    return [*_CELERY, "worker", *threads, *quiet, *named]


def beat(place: Path) -> list[str]:
    files = ["--schedule", str(place / "beat-schedule"), "--pidfile="]
    return [*_CELERY, "beat", *files, "--loglevel", "WARNING"]


def own_stores(servers: Servers) -> tuple[Postgres, Redis]:
    if servers.postgres is None or servers.redis is None:
        raise StartError("the stores must be our own: unset DATABASE_URL and REDIS_URL")
    return servers.postgres, servers.redis


def free_ports(many: int) -> list[int]:
    """Ports nobody listens on, all different."""
    return list(islice(filter(_is_free, SystemRandom().sample(_PORTS, len(_PORTS))), many))


def _is_free(port: int) -> bool:
    with suppress(OSError), socket.socket() as probe:
        probe.bind((HOST, port))
        return True
    return False


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
            check_port(log.stem, HOST, plan.port)
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
        while not (self.plan.port is None or _answers(self.plan.port)):
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


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection(HOST, port, timeout=2)
    try:
        connection.request("GET", "/livez")
        return connection.getresponse().status < 500
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
