"""Sessions that are more than a transaction: past a pooler, where there is one."""

from typing import Any

import psycopg
from django.db import connection


def connect() -> psycopg.Connection[Any]:
    """A session of its own on PostgreSQL itself, outside our pool and any other."""
    params = connection.settings_dict.get("DIRECT") or connection.get_connection_params()
    return psycopg.connect(**params, autocommit=True)


def has_direct_address() -> bool:
    """Whether the settings say that DATABASE_URL leads to a pooler."""
    return "DIRECT" in connection.settings_dict


def is_pooled() -> bool:
    """Whether a pooler stands between Django's connection and PostgreSQL.

    The process id that a pooler gave us at the start belongs to no session of the server's.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (actual,) = cursor.fetchone()
    return bool(actual != connection.connection.info.backend_pid)
