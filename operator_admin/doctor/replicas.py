"""Checks of what is replicated: PostgreSQL for reads, the Redis of links for edges."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import redis as redis_library
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection, connections
from django.utils.translation import gettext as _
from psycopg_pool import PoolTimeout

from config.storage import replica
from config.storage.redis_client import links_redis_client, raise_if_demoted, redis_client
from config.storage.redis_connections import ServerRefusalError
from links.follow.stop_cache import COPIED_AT
from operator_admin.doctor.finding import Finding, failed, passed, verdict

PATIENCE = 3.0  # seconds in which a replica gets what its primary has now
MAX_STAMP_AGE = 5.0  # seconds: edges ask the origin first then
MIB = 2**20
T = TypeVar("T")

_PRIMARY = """
SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint,
       (SELECT system_identifier FROM pg_control_system()), current_database()"""
_REPLICA = """
SELECT pg_is_in_recovery(),
       (SELECT system_identifier FROM pg_control_system()), current_database(),
       pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint,
       EXTRACT(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())::float,
       CASE WHEN pg_is_in_recovery() THEN pg_is_wal_replay_paused() END,
       EXISTS (SELECT FROM pg_stat_wal_receiver)"""
REPLICA_CURE = (
    "Start it, or mend DATABASE_REPLICA_URL: `psql \"$DATABASE_REPLICA_URL\" -c 'select 1'` tells. "
    "Pages read from the primary meanwhile."
)
PRIMARY_CURE = (
    "Make it a replica again (pg_rewind or pg_basebackup), or name another in "
    "DATABASE_REPLICA_URL. Nothing is read from it meanwhile."
)
OTHER_CURE = "Name a replica of DATABASE_URL in DATABASE_REPLICA_URL at once, or unset it."
PAUSED_CURE = "Run there, as a superuser: SELECT pg_wal_replay_resume()"
SILENT_CURE = "See its log, primary_conninfo, and pg_replication_slots on the primary."
LAG_CURE = "See the load of its machine, and long queries there that hold up the replay."
LINKS_CURE = "Start the Redis of links, or mend LINKS_REDIS_URL: links are read from PostgreSQL."
OWN_REDIS_CURE = (
    "Give cached links a Redis of their own in LINKS_REDIS_URL: a replica of this one has the "
    "limits and tasks, too. See “Edges” in docs/operations.md."
)
NO_EDGE_CURE = (
    "On each edge, `redis-cli INFO replication` says why: replicaof, user and password, TLS, the "
    "firewall. Edges ask the origin for everything meanwhile. With no edge left, unset EDGE_TOKENS."
)
STAMP_CURE = (
    "Start the web processes, or see their log for stopped_links: edges take links from their "
    "replicas for EDGE_MAX_STALENESS after the stamp, and no longer."
)


class _State(NamedTuple):
    is_replica: bool
    cluster: int
    database: str
    replayed: int | None  # bytes of the primary's log; None: it has received none
    age: float | None  # seconds since the last commit that it has replayed was made
    is_paused: bool | None
    is_receiving: bool

    def has(self, end: int) -> bool:
        return self.replayed is not None and self.replayed >= end


def database_replica() -> Finding:
    """Pages of the cabinet are read there; a replica that fails is left, and nobody notices."""
    name = "database replica"
    if not replica.is_configured():
        return passed(name, _("none"))
    with connection.cursor() as cursor:
        cursor.execute(_PRIMARY)
        end, cluster, database = cursor.fetchone()
    try:
        state = _caught_up(_replica_state, lambda found: found.has(end) or not found.is_replica)
    except (DatabaseError, PoolTimeout) as error:
        return failed(name, type(error).__name__, REPLICA_CURE)
    if not state.is_replica:
        return failed(name, "it is no replica", PRIMARY_CURE)
    if (state.cluster, state.database) != (cluster, database):
        return failed(name, "it is a replica of another database", OTHER_CURE)
    return _lag(name, state, end - (state.replayed or 0))


def _replica_state() -> _State:
    try:
        with connections[replica.ALIAS].cursor() as cursor:
            cursor.execute(_REPLICA)
            return _State(*cursor.fetchone())
    finally:
        replica.close()


def _lag(name: str, state: _State, behind: int) -> Finding:
    if behind <= 0:
        return passed(name, "it has what the primary has")
    age = "unknown" if state.age is None else f"{state.age:.0f} s"
    detail, cure = f"{behind / MIB:.1f} MB behind, its last commit is {age} old", LAG_CURE
    if state.is_paused:
        detail, cure = f"its replay is paused, {detail}", PAUSED_CURE
    elif not state.is_receiving:
        detail, cure = f"it receives nothing, {detail}", SILENT_CURE
    is_near = state.age is not None and state.age <= settings.DATABASE_REPLICA_MAX_LAG
    return verdict(name, detail, cure, ok=is_near)


def _caught_up(look: Callable[[], T], has_all: Callable[[T], bool]) -> T:
    """What the last look has found: the first at which it has all, or that after PATIENCE."""
    until = time.monotonic() + PATIENCE
    while True:
        found = look()
        if has_all(found) or time.monotonic() >= until:
            return found
        time.sleep(0.1)


def links_redis() -> Finding:
    """What edges replicate: without a server of its own they get all that Redis has."""
    name = "links redis"
    if not settings.LINKS_REDIS_URL:
        detail = "EDGE_TOKENS is set, LINKS_REDIS_URL is not" if settings.EDGE_TOKENS else _("none")
        return verdict(name, detail, OWN_REDIS_CURE, ok=not settings.EDGE_TOKENS)
    try:
        server = _info("server")
        raise_if_demoted(links_redis_client())
    except ServerRefusalError as error:
        return failed(name, f"it refuses us: {error}", LINKS_CURE)
    except redis_library.RedisError as error:
        return failed(name, type(error).__name__, LINKS_CURE)
    if server["run_id"] == _main_run_id():
        return failed(name, "it is the Redis of REDIS_URL", OWN_REDIS_CURE)
    return passed(name, f"Redis {server['redis_version']}")


def _main_run_id() -> str | None:
    """None when that server does not answer, which `redis` says."""
    try:
        info: Any = redis_client().info("server")
    except redis_library.RedisError:
        return None
    return str(info["run_id"])


def edges() -> Finding:
    """What this side sees of them: which replicas follow, and whether stops are stamped."""
    if not settings.EDGE_TOKENS:
        return passed("edges", _("none"))
    try:
        end = int(_info("replication")["master_repl_offset"])
        replicas = _caught_up(_replicas, lambda found: not _late(found, end))
        stamp: Any = links_redis_client().get(COPIED_AT)
    except redis_library.RedisError as error:
        return failed("edges", type(error).__name__, LINKS_CURE)
    if not replicas:
        return failed("edges", "no replica of the Redis of links is connected", NO_EDGE_CURE)
    if late := _late(replicas, end):
        return failed("edges", f"replicas that do not follow: {', '.join(late)}", NO_EDGE_CURE)
    age = max(0.0, time.time() - int(stamp or 0) / 1000)
    words = f"stops stamped {age:.0f} s ago" if stamp else "stops never stamped"
    detail = f"replicas that follow: {len(replicas)}, {words}"
    return verdict("edges", detail, STAMP_CURE, ok=age <= MAX_STAMP_AGE)


def _replicas() -> list[dict[str, Any]]:
    info = _info("replication")
    return [info[f"slave{number}"] for number in range(int(info.get("connected_slaves", 0)))]


def _late(replicas: list[dict[str, Any]], end: int) -> list[str]:
    """Those that have not confirmed what the master had written by then."""
    return [
        f"{one['ip']} ({one['state']}, {(end - int(one['offset'])) / MIB:.1f} MB behind)"
        for one in replicas
        if one["state"] != "online" or int(one["offset"]) < end
    ]


def _info(section: str) -> dict[str, Any]:
    info: Any = links_redis_client().info(section)
    return dict(info)
