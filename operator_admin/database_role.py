"""The privileges of the application's role in PostgreSQL, where another role owns the tables.

A table's owner can drop its triggers. A role that is not the owner and may not update or delete
rows cannot rewrite the audit log or the books, even with the application's password.
"""

from collections.abc import Iterator

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from storage.months import partitions
from storage.statements import sql_files

APPEND_ONLY = ("accounts_auditevent", "billing_seal", "billing_sealedday", "billing_transfer")
READ_ONLY = ("billing_archivedmonth", "billing_archivedsum", "django_migrations")
OWNED = "links_click"  # the worker creates and drops its partitions, which needs ownership

_PARTITIONS = "SELECT relid::regclass::text FROM pg_partition_tree(%s)"
_MONTHS = "SELECT relid::regclass::text FROM pg_partition_tree(%s) WHERE isleaf AND level > 0"
# Months that wait to be archived are no longer partitions.
_DETACHED = """
SELECT oid::regclass::text FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND NOT relispartition
  AND relname ~ %s
"""
_PRIVILEGES = sql_files.read("operator_admin/database_role.sql")
# Not the role's own tables: even a change to the same owner would lock them.
_OWNED_BY_OTHERS = " JOIN pg_class ON pg_class.oid = relid WHERE pg_get_userbyid(relowner) <> %s"


class UnknownRoleError(Exception):
    pass


@transaction.atomic
def grant(role: str) -> None:
    """Grants the role what the application needs; the owner runs it after each `migrate`."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_roles WHERE rolname = %s", [role])
        if cursor.fetchone() is None:
            raise UnknownRoleError(role)
        for statement in _statements(connection.ops.quote_name(role)):
            cursor.execute(statement)
        cursor.execute(_PARTITIONS + _OWNED_BY_OTHERS, [OWNED, role])
        for (table,) in cursor.fetchall():
            cursor.execute(f"ALTER TABLE {table} OWNER TO {connection.ops.quote_name(role)}")
        for month in _months(cursor):  # reached only through their parent
            cursor.execute(f"REVOKE ALL ON {month} FROM {connection.ops.quote_name(role)}")


def _months(cursor: CursorWrapper) -> Iterator[str]:
    for monthly in partitions.TABLES:
        cursor.execute(_MONTHS, [monthly.name])
        yield from (month for (month,) in cursor.fetchall())
    names = "|".join(monthly.name for monthly in partitions.TABLES)
    cursor.execute(_DETACHED, [f"^({names})_[0-9]{{4}}_[0-9]{{2}}$"])
    yield from (month for (month,) in cursor.fetchall())


def _statements(role: str) -> list[str]:
    rights = "SELECT, INSERT, UPDATE, DELETE"
    tables = ", ".join(APPEND_ONLY)
    fixed = ", ".join(READ_ONLY)
    return [
        f"GRANT USAGE, CREATE ON SCHEMA public TO {role}",
        f"GRANT {rights} ON ALL TABLES IN SCHEMA public TO {role}",
        f"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {role}",
        f"ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT {rights} ON TABLES TO {role}",
        f"ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE, SELECT ON SEQUENCES TO {role}",
        f"GRANT EXECUTE ON FUNCTION create_month_partition(regclass, date) TO {role}",
        f"GRANT EXECUTE ON FUNCTION analyze_month_partition(regclass) TO {role}",
        f"REVOKE UPDATE, DELETE, TRUNCATE ON {tables} FROM {role}",
        f"REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON {fixed} FROM {role}",
    ]


def powers() -> list[str]:
    """The ways in which this connection's role could rewrite append-only tables."""
    faults: list[str] = []
    with connection.cursor() as cursor:
        for table in APPEND_ONLY:
            cursor.execute(_PRIVILEGES, [table])
            is_superuser, is_owner, may_change = cursor.fetchone()
            if is_superuser:
                return ["it is a superuser"]
            if is_owner:
                faults.append(f"it owns {table}")
            elif may_change:
                faults.append(f"it may change {table}")
    return faults
