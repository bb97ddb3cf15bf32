"""PostgreSQL and Redis as child processes, each with one data directory."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

from config.local.processes import StartError, last_lines, spawn, stop_unrelated
from config.local.server_account import account_for
from config.local.server_files import (
    reachable_directory,
    reachable_programs,
    socket_directory,
)

NAME = "kvitok"  # of the database and its owner
_POSTGRES_VERSION = "18"
_CONNECTIONS = "200"
# The built-in C.UTF-8 folds case in every alphabet and is the same on every machine.
_LOCALE = ("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
# Statements, parameters and errors contain phone numbers: none may be logged.
_LOGGING = {
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
    "log_line_prefix": "%m [%p] ",
}
_NOT_DURABLE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class Server(ABC):
    """A server to start, kill and restart, from the main thread only."""

    name: ClassVar[str]
    pid_file: ClassVar[str]
    stop_signal: ClassVar[signal.Signals]

    def __init__(self, directory: Path, *, durable: bool, log: Path) -> None:
        self.account = account_for(directory)
        self.programs = reachable_programs(self.account)
        self.directory = reachable_directory(directory, self.account)
        self.sockets = socket_directory(self.directory, self.account)
        self.durable = durable
        self.log = log
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        if self.process is None:
            raise StartError(f"{self.name} is not running")
        return self.process.pid

    def start(self, seconds: float = 60) -> None:
        """Cleans up after the last run, starts and waits until ready; raises StartError."""
        self.prepare()
        deadline = time.monotonic() + seconds
        # The children of a killed postmaster take a moment to release shared memory.
        for pause in (0.1, 0.3, 0.6, 0.0):
            log_start = self.log.stat().st_size if self.log.exists() else 0
            process = self.launch()
            if self._answers(process, deadline):
                return
            if process.poll() is None:
                break
            time.sleep(pause)
        self.stop()
        tail = " ".join(last_lines(self.log, 2, since=log_start))
        raise StartError(f"{self.name} does not start: {tail or 'no answer'} (see {self.log})")

    def launch(self) -> subprocess.Popen[bytes]:
        """Starts the program without waiting until it is ready."""
        self.process = spawn(
            self.command(),
            log=self.log,
            die=self.stop_signal,
            account=self.account,
            env=self._environment(),
        )
        return self.process

    def stop(self, seconds: float = 10) -> None:
        if self.process is None:
            return
        self.process.send_signal(self.stop_signal)
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def kill(self) -> None:
        """Kills the server, like a power cut."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def restart(self) -> None:
        """Restarts on the same data, whether running, stopped or killed."""
        self.stop()
        self.start()

    def close(self) -> None:
        """Stops for good and removes files outside the data directory."""
        self.stop()
        if self.sockets != self.directory:
            shutil.rmtree(self.sockets, ignore_errors=True)

    @abstractmethod
    def prepare(self) -> None:
        """Prepares the data directory for a start."""

    @abstractmethod
    def command(self) -> list[str | Path]: ...

    @abstractmethod
    def is_ready(self) -> bool:
        """Whether the process we started, not another one, accepts connections."""

    def _answers(self, process: subprocess.Popen[bytes], deadline: float) -> bool:
        while process.poll() is None and time.monotonic() < deadline:
            if self.is_ready():
                return True
            time.sleep(0.01)
        return False

    def _environment(self) -> dict[str, str]:
        return {"PATH": os.defpath, "HOME": str(self.directory), "LC_ALL": "C"}


class Postgres(Server):
    name = "PostgreSQL"
    pid_file = "data/postmaster.pid"
    stop_signal = signal.SIGINT  # fast shutdown; SIGTERM would wait for clients

    def __init__(
        self, directory: Path, *, durable: bool, log: Path, cluster: Path | None = None
    ) -> None:
        super().__init__(directory, durable=durable, log=log)
        self.cluster = cluster

    @property
    def url(self) -> str:
        return f"postgresql://{NAME}@/{NAME}?host={quote(str(self.sockets))}"

    @property
    def data(self) -> Path:
        return self.directory / "data"

    def prepare(self) -> None:
        stop_leftover(Postgres, self.directory)
        if not self.data.exists():
            self._initialise()
        version = (self.data / "PG_VERSION").read_text().strip()
        if version != _POSTGRES_VERSION:
            raise StartError(f"{self.data} was made by PostgreSQL {version}: move it away")

    def command(self) -> list[str | Path]:
        settings = _LOGGING | {
            "listen_addresses": "",
            "unix_socket_permissions": "0700",
            "max_connections": _CONNECTIONS,
        }
        if not self.durable:
            settings |= _NOT_DURABLE
        options = [word for key, value in settings.items() for word in ("-c", f"{key}={value}")]
        binary = self.programs.postgres / "postgres"
        return [binary, "-D", self.data, "-k", self.sockets, *options]

    def is_ready(self) -> bool:
        try:
            lines = (self.directory / self.pid_file).read_text().split("\n")
        except OSError:
            return False
        return lines[0] == str(self.pid) and "".join(lines[7:8]).strip() == "ready"

    def _initialise(self) -> None:
        if self.account is None and not _has_user_name(os.geteuid()):
            raise StartError(
                f"PostgreSQL needs a user with a name, and {os.geteuid()} has none in /etc/passwd: "
                "start as another user, or set DATABASE_URL and REDIS_URL"
            )
        # Built next to it and renamed, so an interrupted start is never taken for a database.
        new = self.directory / "new"
        shutil.rmtree(new, ignore_errors=True)
        if self.cluster is None:
            self._create(new)
        else:
            self._copy(self.cluster, new)
        new.rename(self.data)

    def _create(self, new: Path) -> None:
        options = ["-U", NAME, "-A", "trust", "-E", "UTF8", *_LOCALE]
        if not self.durable:
            options.append("--no-sync")
        self._run("initdb", "-D", str(new), *options)
        self._run("postgres", "--single", "-D", str(new), "postgres", say=f"CREATE DATABASE {NAME}")

    def _copy(self, cluster: Path, new: Path) -> None:
        shutil.copytree(cluster, new)
        if self.account is not None:
            for path in (new, *new.rglob("*")):
                os.chown(path, self.account.uid, self.account.gid)

    def _run(self, program: str, *arguments: str, say: str = "") -> None:
        identity: dict[str, Any] = {}
        if self.account is not None:
            identity = {"user": self.account.uid, "group": self.account.gid, "extra_groups": []}
        process = subprocess.run(  # noqa: S603 - the wheel's own programs
            [str(self.programs.postgres / program), *arguments],
            cwd="/",
            env=self._environment(),
            input=say,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            **identity,
        )
        if process.returncode != 0:
            reason = " ".join(process.stdout.split())[-300:]
            raise StartError(f"{program} could not make {self.data}: {reason}")


class Redis(Server):
    name = "Redis"
    pid_file = "redis.pid"
    stop_signal = signal.SIGTERM

    @property
    def socket(self) -> Path:
        return self.sockets / "redis.sock"

    @property
    def url(self) -> str:
        return f"unix://{quote(str(self.socket))}?db=0"

    @property
    def broker_url(self) -> str:
        """This server's address as a Celery broker URL."""
        return f"redis+socket://{quote(str(self.socket))}"

    def forget(self) -> None:
        """Kills the server and deletes its data; leaves it stopped."""
        self.kill()
        for path in self.directory.iterdir():
            if path.suffix in {".aof", ".rdb"}:
                path.unlink()

    def prepare(self) -> None:
        # A second server would silently take over the socket and the data.
        stop_leftover(Redis, self.directory)
        (self.directory / self.pid_file).unlink(missing_ok=True)

    def command(self) -> list[str | Path]:
        settings = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "dir": str(self.directory),
            "pidfile": str(self.directory / self.pid_file),
            "maxmemory-policy": "noeviction",
            "save": "",
            "appendonly": "yes" if self.durable else "no",
            "appendfsync": "everysec",
        }
        options = [word for key, value in settings.items() for word in (f"--{key}", value)]
        return [self.programs.redis, *options]

    def is_ready(self) -> bool:
        if _read_pid(self.directory / self.pid_file) != self.pid:
            return False
        with socket.socket(socket.AF_UNIX) as client, suppress(OSError):
            client.settimeout(1)
            client.connect(str(self.socket))
            client.sendall(b"PING\r\n")
            return client.recv(64).startswith(b"+PONG")
        return False


def stop_leftover(kind: type[Server], directory: Path) -> None:
    """Stops a server that a killed run left running on this data."""
    pid = _read_pid(directory / kind.pid_file)
    if pid is not None:
        # Its command line contains the path, unlike that of a process that has reused the pid.
        stop_unrelated(pid, str(directory), kind.stop_signal)


def _has_user_name(uid: int) -> bool:
    try:
        return bool(pwd.getpwuid(uid).pw_name)
    except KeyError:
        return False


def _read_pid(path: Path) -> int | None:
    try:
        return int(path.read_text().split("\n", 1)[0])
    except (OSError, ValueError):
        return None
