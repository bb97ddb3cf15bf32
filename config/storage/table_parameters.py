"""How full the pages of the busy tables are written, and when autovacuum comes.

A partition has parameters of its own; `create_month_partition` gives a new month those of its
elder.
"""

from collections.abc import Callable, Mapping
from typing import Any

from django.db import connection

# A fiftieth of a month, not a fifth: at five million messages a day a fifth is six days of them.
_OF_A_MONTH = {
    "autovacuum_vacuum_scale_factor": 0.02,
    "autovacuum_analyze_scale_factor": 0.02,
    "autovacuum_vacuum_insert_scale_factor": 0.05,
}
PARAMETERS: Mapping[str, Mapping[str, float]] = {
    # Each of its rows is changed two or three times and deleted: it must stay small.
    "channels_openmessage": {
        "fillfactor": 50,
        "autovacuum_vacuum_scale_factor": 0.0,
        "autovacuum_vacuum_threshold": 1000,
        "autovacuum_analyze_scale_factor": 0.0,
        "autovacuum_analyze_threshold": 1000,
        "autovacuum_vacuum_cost_delay": 0,
    },
    # Room in each page for a new version of a message that is under way (HOT).
    "channels_message": {"fillfactor": 95, **_OF_A_MONTH},
    "channels_attempt": _OF_A_MONTH,
    "channels_receipt": _OF_A_MONTH,
    "otp_verification": _OF_A_MONTH,
    "billing_transfer": _OF_A_MONTH,
    "accounts_event": _OF_A_MONTH,
}
_LEAVES = "SELECT relid::regclass::text FROM pg_partition_tree(%s::regclass) WHERE isleaf"


def setting(*tables: str) -> Callable[[Any, Any], None]:
    """For a migration: sets the parameters of tables, or of all their partitions."""

    def run(_apps: Any, _editor: Any) -> None:
        for table in tables:
            for leaf in _leaves(table):
                _set(leaf, PARAMETERS[table])

    return run


def _leaves(table: str) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(_LEAVES, [table])
        return [leaf for (leaf,) in cursor.fetchall()] or [table]  # a plain table is no tree


def _set(table: str, parameters: Mapping[str, float]) -> None:
    values = ", ".join(f"{name} = {value}" for name, value in parameters.items())
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} SET ({values})")
