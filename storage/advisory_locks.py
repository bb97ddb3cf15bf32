"""PostgreSQL's advisory locks on a number or a name; each is released at the transaction's end."""

from django.db import connection


def lock(key: int | str) -> None:
    """Takes the lock; waits until it is free."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pg_advisory_xact_lock({_number(key)})", [key])


def try_lock(key: int | str) -> bool:
    """Takes the lock without waiting; False if another session holds it."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pg_try_advisory_xact_lock({_number(key)})", [key])
        return bool(cursor.fetchone()[0])


def _number(key: int | str) -> str:
    return "hashtextextended(%s, 0)" if isinstance(key, str) else "%s"
