"""One database session for hours of work: no pool, no time limits, writable in a closed database.

A database is closed by `default_transaction_read_only`, so that a worker that somebody starts too
early can neither claim nor record anything. Closed is what a restored copy is until it is proved.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

from config.storage import direct_session
from operator_admin.backup import BackupError

_SETTINGS = (
    "statement_timeout=0",
    "lock_timeout=0",
    "idle_in_transaction_session_timeout=0",
    "default_transaction_read_only=off",
    "DateStyle=ISO",
)
_IS_OWNER = """
SELECT pg_has_role(datdba, 'USAGE') FROM pg_database WHERE datname = current_database()
"""


@contextmanager
def patient_session() -> Iterator[None]:
    """This thread's connection without its pool and time limits, for the commands that need it.

    Other threads share the settings, and a connection that one of them takes without a pool cannot
    be given back to it.
    """
    if direct_session.is_pooled():
        raise BackupError(
            "DATABASE_URL leads to a pooler: name PostgreSQL itself in it for this command."
        )
    settings = connection.settings_dict
    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]
    patient = {
        **{name: value for name, value in settings["OPTIONS"].items() if name != "pool"},
        "options": " ".join(f"-c {setting}" for setting in _SETTINGS),
    }
    connection.settings_dict = settings | {"OPTIONS": patient}
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict = settings


def close_database() -> None:
    """New sessions may only read; raises BackupError unless the role owns the database."""
    with connection.cursor() as cursor:
        cursor.execute(_IS_OWNER)
        if not cursor.fetchone()[0]:
            raise BackupError(
                "The role of DATABASE_URL does not own the database, so it cannot keep workers "
                "out while it restores: connect as the owner."
            )
        cursor.execute(f"ALTER DATABASE {_name()} SET default_transaction_read_only = on")


def open_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER DATABASE {_name()} RESET default_transaction_read_only")


def other_sessions() -> list[str]:
    """Who else is connected to the database: application or role, and address."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT COALESCE(NULLIF(application_name, ''), usename)
                 || ' from ' || COALESCE(host(client_addr), 'this machine')
               FROM pg_stat_activity
               WHERE datname = current_database() AND backend_type = 'client backend'
                 AND pid <> pg_backend_pid()"""
        )
        return [who for (who,) in cursor.fetchall()]


def _name() -> str:
    return connection.ops.quote_name(connection.settings_dict["NAME"])
