"""Checks the replica of PostgreSQL that pages are read from."""

import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection, connections
from django.utils.translation import gettext as _
from psycopg_pool import PoolTimeout

from config.storage import replica
from operator_admin.doctor.finding import Finding, failed, passed, verdict

PATIENCE = 3.0  # seconds in which a replica gets what its primary has now
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
