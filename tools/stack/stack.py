"""Runs the service and its floors as separate processes, by the command lines of `make run`."""

import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import SystemRandom
from typing import NamedTuple
from urllib.parse import urlsplit

import django
import psycopg
import redis
from django.db import connections
from psycopg import sql

from config.local.demo_environment import environment
from config.local.embedded import Servers, temporary
from config.local.processes import StartError
from config.local.store_servers import Postgres, Redis
from tests.stack.programs import Program

HOST = "127.0.0.1"
# Below the ports of outgoing connections, one of which could take it before the server listens.
_PORTS = range(10_000, 32_000)
GRANIAN = {"interface": "wsgi", "workers": "2", "blocking-threads": "64", "backpressure": "2048"}
SIMULATOR = ("-m", "tools.simulator")
_CELERY = ["-m", "celery", "-q", "-A", "config"]
KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE")
OWN = {
    "API_RATE": "100000000",  # counted as always, never reached
    "SIMULATOR_RECEIPT_DELAY_MS": "0",
}
_SYNCED = """
SELECT COALESCE(sum(fsyncs), 0), COALESCE(sum(fsync_time), 0) FROM pg_stat_io WHERE object = 'wal'
"""


class CannotMeasureError(StartError):
    """An error whose one-line text says why there is no figure."""


@dataclass(frozen=True, slots=True)
class Account:
    """A company that sends: whose it is and the live key it sends with."""

    company_id: int
    key_id: int
    key: str
    client_key: str = ""  # for the clients of other services


def web(port: int) -> list[str]:
    """The command of the web process, like in `config.local.supervisor`."""
    return ["-m", "config.web_server", "--host", HOST, "--port", str(port), "--workers", "2"]


def worker(name: str = "", *, level: str = "WARNING") -> list[str]:
    """At the level INFO it says when it is ready. Several on one machine need names."""
    threads = ["--pool", "threads", "--concurrency", "4"]
    quiet = ["--without-mingle", "--without-gossip", "--loglevel", level]
    host = ["--hostname", f"{name}@%h"] if name else []
    return [*_CELERY, "worker", *threads, *quiet, *host]


def beat(directory: Path) -> list[str]:
    files = ["--schedule", str(directory / "beat-schedule"), "--pidfile="]
    return [*_CELERY, "beat", *files, "--loglevel", "WARNING"]


def own_stores(servers: Servers) -> tuple[Postgres, Redis]:
    if servers.postgres is None or servers.redis is None:
        raise StartError("the stores must be our own: unset DATABASE_URL and REDIS_URL")
    return servers.postgres, servers.redis


def free_ports(count: int) -> list[int]:
    """Different ports on which nothing listens."""
    return list(islice(filter(_is_free, SystemRandom().sample(_PORTS, len(_PORTS))), count))


def _is_free(port: int) -> bool:
    with suppress(OSError), socket.socket() as probe:
        probe.bind((HOST, port))
        return True
    return False


def kept_environ() -> dict[str, str]:
    """The variables of this process that concern no setting of the service."""
    return {name: os.environ[name] for name in KEPT if name in os.environ}


def environment_of(
    servers: Servers, directory: Path, web: int, simulator: int, options: Mapping[str, str]
) -> dict[str, str]:
    """The environment of every program; `options` are those that a user gives to `make run`."""
    variables = environment(
        {**kept_environ(), **options}, var=directory, host=HOST, port=web, simulator_port=simulator
    )
    return variables | servers.environ() | OWN


def set_up_django(environ: Mapping[str, str]) -> None:
    """Sets Django up in this process."""
    os.environ.update({"DJANGO_SETTINGS_MODULE": "config.settings", **environ})
    django.setup()


def drop_connections() -> None:
    """This process's own: the server they lead to may be killed, or the database be copied."""
    ours = connections["default"]
    ours.close()
    ours.close_pool()  # type: ignore[attr-defined]  # PostgreSQL's


def url_of(port: int) -> str:
    return f"http://{HOST}:{port}"


class Plan(NamedTuple):
    """A program to run, and how: two programs of the same plan are the same program."""

    command: Sequence[str]
    environ: tuple[tuple[str, str], ...] = ()  # besides what all of them get
    port: int | None = None  # where it listens


def program(log: Path, plan: Plan, environ: Mapping[str, str], *, ready: str = "") -> Program:
    """Ready when it answers on its port, or when its log has these words."""
    url = f"{url_of(plan.port)}/livez" if plan.port else ""
    environ = dict(environ) | dict(plan.environ)
    started = Program(plan.command, log=log, environ=environ, url=url, words=ready)
    if plan.port:
        started.die = signal.SIGTERM  # killed outright, granian would leave its workers behind
    return started


SEEDED = "kvitok"  # the database that others are copied from


@dataclass(frozen=True)
class Setup:
    """The stack that a row needs. A database is a copy of the seeded one, made at its first use."""

    database: str
    floor_database: str = ""  # the floor's, if a worker must not see what it writes
    waiters: int = 48  # SEND_WAITERS of the web; 0: every send is answered `queued` at once
    floor: bool = False
    hello: bool = False
    delivery: bool = False  # worker, beat and simulator
    environ: tuple[tuple[str, str], ...] = ()  # more of the service's own programs


class Stack:
    def __init__(
        self, servers: Servers, directory: Path, options: Mapping[str, str] | None = None
    ) -> None:
        self.place = directory
        (directory / "log").mkdir()
        self.postgres, self.redis_server = own_stores(servers)
        self.web, self.floor, self.hello, self.simulator = free_ports(4)
        self.environ = environment_of(servers, directory, self.web, self.simulator, options or {})
        self.redis = redis.Redis.from_url(self.redis_server.url)
        self._running: dict[str, tuple[Plan, Program]] = {}
        self._databases = {SEEDED}
        self._store: tuple[str, psycopg.Connection] | None = None

    def set_up_django(self) -> None:
        """Sets Django up in this process, on the database that others are copied from."""
        set_up_django(self.environ)

    def arrange(self, setup: Setup) -> None:
        """Runs exactly these programs: stops others, starts missing ones, leaves matching ones."""
        url = self._database(setup.database)
        plans = self._plans(setup, url)
        self._stop([name for name, (plan, _) in self._running.items() if plans.get(name) != plan])
        self.redis.flushall()
        missing = {name: plan for name, plan in plans.items() if name not in self._running}
        for name, plan in missing.items():
            log = self.place / "log" / f"{name}.log"
            self._running[name] = plan, program(log, plan, self.environ)
            self._running[name][1].launch()
        for name in missing:
            self._running[name][1].wait_ready()

    def _stop(self, names: Sequence[str]) -> None:
        for name in names:
            stopped = self._running.pop(name)[1]
            stopped.terminate()
            with suppress(subprocess.TimeoutExpired):
                stopped.wait_stopped()

    def _plans(self, setup: Setup, url: str) -> dict[str, Plan]:
        database = ("DATABASE_URL", url)
        ours = (database, ("SEND_WAITERS", str(setup.waiters)), *setup.environ)
        plans = {"web": Plan(web(self.web), ours, self.web)}
        if setup.floor:
            plans["floor"] = _granian(
                self.floor,
                "tools.bench.floors.floor_wsgi:application",
                ("DATABASE_URL", self.copy(setup.floor_database or setup.database)),
            )
        if setup.hello:
            plans["hello"] = _granian(self.hello, "tools.bench.floors.hello:application")
        if setup.delivery:
            plans["worker"] = Plan(worker(), (database, *setup.environ))
            plans["beat"] = Plan(beat(self.place), (database, *setup.environ))
            plans["simulator"] = Plan(SIMULATOR, (), self.simulator)
        return plans

    def programs(self) -> dict[str, int]:
        """The first process of each program that runs."""
        return {name: started.running.pid for name, (_, started) in self._running.items()}

    def synced(self) -> tuple[int, float]:
        """(flushes of the write-ahead log to disk, ms that they took), recently."""
        row = self.store.execute(_SYNCED).fetchone()
        return (int(row[0]), float(row[1])) if row else (0, 0.0)

    @property
    def store(self) -> psycopg.Connection:
        """A connection of the bench's own to the database in use."""
        if self._store is None:
            raise CannotMeasureError("no database is in use")
        return self._store[1]

    def tidy(self) -> None:
        """Does the work of autovacuum, which is off; between measurements, not during one."""
        for name in self._databases:  # also those that `store` does not see, as a floor's
            with psycopg.connect(self.url(name), autocommit=True) as store:
                store.execute("VACUUM (ANALYZE)")
        self.store.execute("CHECKPOINT")

    def complaints(self) -> Iterator[str]:
        """A line for each program that logged an error."""
        for log in sorted((self.place / "log").glob("*.log")):
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
            if complaints := list(filter(_is_complaint, lines)):
                yield f"{log.stem} logged {len(complaints)} errors: {complaints[0][:300]}"

    def close(self) -> None:
        self.use(None)
        self._stop(list(self._running))
        self.redis.close()

    def use(self, database: str | None) -> None:
        if self._store is not None:
            self._store[1].close()
            self._store = None
        if database is not None:
            self._store = database, psycopg.connect(self.url(database), autocommit=True)

    def url(self, database: str) -> str:
        return urlsplit(self.postgres.url)._replace(path=f"/{database}").geturl()

    def _database(self, name: str) -> str:
        """Creates the database if it is missing, and connects to it."""
        url = self.copy(name)
        if self._store is None or self._store[0] != name:
            self.use(name)
        return url

    def copy(self, name: str) -> str:
        """The address of a copy of the seeded database, made at its first use."""
        if name not in self._databases:
            with psycopg.connect(self.url("postgres"), autocommit=True) as admin:
                copy = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
                admin.execute(copy.format(sql.Identifier(name), sql.Identifier(SEEDED)))
            self._databases.add(name)
        return self.url(name)


@contextmanager
def temporary_stack(
    name: str, *, durable: bool = True, options: Mapping[str, str] | None = None
) -> Iterator[Stack]:
    """A stack with its own empty stores; leaves nothing behind."""
    with (
        tempfile.TemporaryDirectory(prefix=f"kvitok-{name}-") as directory,
        temporary(durable=durable, environ={}) as servers,
    ):
        stack = Stack(servers, Path(directory), options)
        try:
            yield stack
        finally:
            stack.close()


def _granian(port: int, application: str, *environ: tuple[str, str]) -> Plan:
    """An application to compare ours with, under the server's own bridge."""
    options = GRANIAN | {"host": HOST, "port": str(port)}
    arguments = [word for name, value in options.items() for word in (f"--{name}", value)]
    command = ["-m", "granian", *arguments, "--no-ws", "--respawn-failed-workers", application]
    return Plan(command, environ, port)


def _is_complaint(line: str) -> bool:
    return any(word in line for word in ('"level":"error"', '"level":"critical"', "Traceback"))


def until(
    condition: Callable[[], bool], *, seconds: float, event: str, every: float = 0.05
) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise CannotMeasureError(f"{event} did not happen within {seconds:.0f} s")
        time.sleep(every)


def set_up(url: str) -> None:
    """Autovacuum would strike one side of a comparison and not the other."""
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("ALTER SYSTEM SET autovacuum = off")
        admin.execute("ALTER SYSTEM SET track_wal_io_timing = on")
        admin.execute("SELECT pg_reload_conf()")
