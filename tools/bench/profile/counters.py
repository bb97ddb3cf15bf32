"""What the stores counted: commits, rows, write-ahead log, commands."""

from typing import Any

import psycopg
import redis

FLUSHED = 11.0  # seconds after which an idle backend has handed in what it counted
_DATABASE = """
SELECT xact_commit, (SELECT sum(n_tup_ins) FROM pg_stat_user_tables),
  (SELECT sum(n_tup_upd) FROM pg_stat_user_tables),
  (SELECT sum(n_tup_hot_upd) FROM pg_stat_user_tables),
  (SELECT sum(n_tup_del) FROM pg_stat_user_tables),
  (SELECT wal_bytes FROM pg_stat_wal), (SELECT wal_records FROM pg_stat_wal),
  (SELECT wal_fpi FROM pg_stat_wal),
  (SELECT COALESCE(sum(fsyncs), 0) FROM pg_stat_io WHERE object = 'wal')
FROM pg_stat_database WHERE datname = current_database()"""
_NAMES = (
    "commits",
    "rows inserted",
    "rows updated",
    "of them HOT",
    "rows deleted",
    "WAL bytes",
    "WAL records",
    "full pages in it",
    "WAL flushes",
)
Counts = dict[str, float]


def read(store: psycopg.Connection, server: redis.Redis) -> Counts:
    row = store.execute(_DATABASE).fetchone() or ()
    counts = {name: float(value or 0) for name, value in zip(_NAMES, row, strict=True)}
    stats: Any = server.info("stats")
    commands: Any = server.info("commandstats")
    counts["Redis round trips"] = stats["total_reads_processed"]
    counts["Redis commands"] = stats["total_commands_processed"]
    return counts | {
        f"Redis {name.removeprefix('cmdstat_').upper()}": each["calls"]
        for name, each in commands.items()
    }


def plus(one: Counts, other: Counts) -> Counts:
    return {name: one.get(name, 0.0) + other.get(name, 0.0) for name in one | other}


def minus(after: Counts, before: Counts) -> Counts:
    return {name: value - before.get(name, 0.0) for name, value in after.items()}


def per_message(
    during: Counts, seconds: float, idle: Counts, idle_seconds: float, many: int
) -> Counts:
    """Without what the service does in the same time when nothing is sent."""
    return {
        name: (value - idle.get(name, 0.0) * seconds / idle_seconds) / many
        for name, value in during.items()
    }
