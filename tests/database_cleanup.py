"""Empties the database after a test that committed: only the tables that have rows.

Django truncates every table and recreates all permissions after each of these tests.
"""

from functools import cache

from django.db import connection

# Written by migrations, changed by no test.
KEPT = {"django_migrations", "django_content_type", "auth_permission"}


def empty_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute(_non_empty_tables_query())
        used = [name for (name,) in cursor.fetchall()]
        if used:
            # Disables foreign keys and the ledger's trigger.
            deletes = "".join(f'DELETE FROM "{name}";' for name in used)  # noqa: S608
            cursor.execute(f"SET session_replication_role = replica; {deletes}")
            cursor.execute("SET session_replication_role = DEFAULT")


@cache
def _non_empty_tables_query() -> str:
    """One query for the names of the tables with rows."""
    with connection.cursor() as cursor:
        names = set(connection.introspection.table_names(cursor)) - KEPT
    return " UNION ALL ".join(
        f"SELECT '{name}' WHERE EXISTS (SELECT FROM \"{name}\")"  # noqa: S608
        for name in sorted(names)
    )
