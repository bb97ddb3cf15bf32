"""Empties the database after a test that committed: only what has rows, which is little.

Django's own way truncates every table and then makes all permissions anew, after each such test.
"""

from functools import cache

from django.db import connection

# What migrations write, and no test changes.
KEPT = {"django_migrations", "django_content_type", "auth_permission"}


def empty_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute(_non_empty_tables_query())
        used = [name for (name,) in cursor.fetchall()]
        if used:
            # Neither foreign keys nor the ledger's own trigger have a say in it.
            deletes = "".join(f'DELETE FROM "{name}";' for name in used)  # noqa: S608
            cursor.execute(f"SET session_replication_role = replica; {deletes}")
            cursor.execute("SET session_replication_role = DEFAULT")


@cache
def _non_empty_tables_query() -> str:
    """The names of the tables with rows, in one question; asked the same way each time."""
    with connection.cursor() as cursor:
        names = set(connection.introspection.table_names(cursor)) - KEPT
    return " UNION ALL ".join(
        f"SELECT '{name}' WHERE EXISTS (SELECT FROM \"{name}\")"  # noqa: S608
        for name in sorted(names)
    )
