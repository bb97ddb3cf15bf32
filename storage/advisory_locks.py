"""Advisory locks of PostgreSQL on a number or a name; each ends with its transaction."""

from django.db import connection


def lock(key: int | str) -> None:
    """Waits for its turn."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pg_advisory_xact_lock({_number(key)})", [key])


def try_lock(key: int | str) -> bool:
    """Tries the lock; False if another session has it."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pg_try_advisory_xact_lock({_number(key)})", [key])
        return bool(cursor.fetchone()[0])


def _number(key: int | str) -> str:
    return "hashtextextended(%s, 0)" if isinstance(key, str) else "%s"
