"""Redis servers, replicas and Sentinels on their own ports, for tests and drills."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import redis

from config.local.processes import last_lines, spawn
from config.local.server_files import reachable_programs
from tests.ports import free_port
from tests.stack.programs import wait_until

SERVICE = "kvitok"
DOWN_AFTER = 500  # ms of silence after which a Sentinel takes a server for dead


@dataclass
class RedisServer:
    """A server, or with `--sentinel` a Sentinel, that can be killed and started again."""

    directory: Path
    options: list[str] = field(default_factory=list)
    program: str = ""
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def client(self) -> redis.Redis:
        return redis.Redis(port=self.port, socket_timeout=5)

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @property
    def has_ended(self) -> bool:
        return self.process is None or self.process.poll() is not None

    def launch(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        config = self.directory / "redis.conf"
        config.touch()
        program = self.program or str(reachable_programs(None).redis)
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", *self.options]
        log = self.directory / "redis.log"
        self.process = spawn([program, str(config), *options], log=log, cwd=self.directory)

    def start(self) -> None:
        self.launch()
        wait_until(self._answers, on_timeout=lambda: last_lines(self.directory / "redis.log", 5))

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def _answers(self) -> bool:
        try:
            return bool(self.client.ping())
        except redis.RedisError:
            return False


@dataclass(frozen=True)
class SentinelGroup:
    """A master, a replica of it, and three Sentinels that watch them."""

    servers: tuple[RedisServer, RedisServer]
    sentinels: tuple[RedisServer, ...]

    @property
    def url(self) -> str:
        addresses = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in self.sentinels)
        return f"redis+sentinel://{addresses}/{SERVICE}/0"

    @property
    def master(self) -> RedisServer:
        """Returns the master that the first Sentinel names."""
        result: Any = self.sentinels[0].client.sentinel_get_master_addr_by_name(SERVICE)
        _, port = result
        return next(server for server in self.servers if server.port == int(port))

    def fail_over(self) -> None:
        """Fails over as on an operator's request, with both servers alive."""
        ask: Any = self.sentinels[0].client.execute_command
        ask("SENTINEL", "FAILOVER", SERVICE)

    def other_than(self, server: RedisServer) -> RedisServer:
        first, second = self.servers
        return second if server is first else first

    def is_complete(self) -> bool:
        """Whether each Sentinel knows the replica and the other Sentinels."""
        known: list[Any] = [sentinel.client.sentinel_master(SERVICE) for sentinel in self.sentinels]
        return all(
            state["num-slaves"] == 1 and state["num-other-sentinels"] == len(self.sentinels) - 1
            for state in known
        ) and all("master_link_down" not in replica["flags"] for replica in self._replicas())

    def _replicas(self) -> Iterator[dict[str, Any]]:
        for sentinel in self.sentinels:
            sentinel_slaves: Any = sentinel.client.sentinel_slaves(SERVICE)
            yield from sentinel_slaves


@contextmanager
def sentinel_group(directory: Path) -> Iterator[SentinelGroup]:
    with ExitStack() as stack:

        def started(name: str, *options: str) -> RedisServer:
            redis_server = RedisServer(directory / name, list(options))
            stack.callback(redis_server.kill)
            redis_server.start()
            return redis_server

        master = started("first")
        replica = started("second", "--replicaof", "127.0.0.1", str(master.port))
        watch = [
            *("--sentinel", "monitor", SERVICE, "127.0.0.1", str(master.port), "2"),
            *("--sentinel", "down-after-milliseconds", SERVICE, str(DOWN_AFTER)),
            *("--sentinel", "failover-timeout", SERVICE, "5000"),
        ]
        sentinels = tuple(
            started(f"sentinel-{number}", "--sentinel", *watch) for number in range(3)
        )
        group = SentinelGroup((master, replica), sentinels)
        wait_until(group.is_complete)
        yield group


def tls_server(directory: Path, *options: str) -> RedisServer | None:
    """A server that speaks TLS only; None where no redis-server can."""
    program = shutil.which("redis-server")
    if program is None:
        return None
    redis_server = RedisServer(directory, program=program)
    redis_server.options = ["--port", "0", "--tls-port", str(redis_server.port), *options]
    redis_server.launch()
    wait_until(lambda: redis_server.has_ended or _listens(redis_server.port))
    return None if redis_server.has_ended else redis_server


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
        return True
    return False
