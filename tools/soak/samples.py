"""What is looked at every few seconds: memory of the processes, the stores, the waiting work."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import redis

from tests.stack.programs import Program, children

_CONNECTIONS = """
SELECT count(*) FROM pg_stat_activity
WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
"""
_ROWS = "SELECT COALESCE(sum(n_dead_tup), 0)::bigint FROM pg_stat_user_tables"
_OPEN = "SELECT count(*) FROM channels_openmessage"
_MEGABYTE = 1024.0  # in the kB of /proc


@dataclass(frozen=True)
class Sample:
    at: float  # seconds since the load began
    memory: dict[str, float] = field(default_factory=dict)  # anonymous MB, by program
    files: int = 0  # open descriptors of all programs
    threads: int = 0
    connections: int = 0  # to PostgreSQL
    dead_rows: int = 0  # that vacuum has not removed yet
    redis: float = 0.0  # MB
    open_messages: int = 0
    answered: int = 0


class Sampler:
    """Connections of its own, so that it waits for nothing that the service holds."""

    def __init__(
        self, programs: Mapping[str, Program], database: str, redis_client: redis.Redis
    ) -> None:
        self._programs = programs
        self._database = psycopg.connect(database, autocommit=True)
        self._redis = redis_client

    def take(self, at: float, answered: int) -> Sample:
        pids = {name: list(_tree(one.running.pid)) for name, one in self._programs.items()}
        everything = [pid for group in pids.values() for pid in group]
        return Sample(
            at=round(at, 1),
            memory={name: sum(map(anonymous_megabytes, group)) for name, group in pids.items()},
            files=sum(_entries(pid, "fd") for pid in everything),
            threads=sum(_entries(pid, "task") for pid in everything),
            connections=self._number(_CONNECTIONS),
            dead_rows=self._number(_ROWS),
            redis=round(self._redis.info("memory")["used_memory"] / 2**20, 1),
            open_messages=self._number(_OPEN),
            answered=answered,
        )

    def close(self) -> None:
        self._database.close()
        self._redis.close()

    def _number(self, query: str) -> int:
        row = self._database.execute(query.encode()).fetchone()
        return int(row[0]) if row else 0


def anonymous_megabytes(pid: int) -> float:
    """What the process allocated itself: files and shared pages are not its growth."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return round(int(line.split()[1]) / _MEGABYTE, 1)
    return 0.0


def _tree(pid: int) -> Iterator[int]:
    yield pid
    for child in children(pid):
        yield from _tree(child)


def _entries(pid: int, folder: str) -> int:
    return len(list(Path(f"/proc/{pid}/{folder}").iterdir()))
