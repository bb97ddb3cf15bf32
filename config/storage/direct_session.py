"""Sessions that are more than a transaction: past a pooler, where there is one."""

from typing import Any

import psycopg
from django.conf import settings
from django.db import connection


def connect() -> psycopg.Connection[Any]:
    """A session of its own on PostgreSQL itself, outside our pool and any other."""
    params = connection.get_connection_params()
    if not settings.DATABASE_DIRECT_URL:
        return psycopg.connect(**params, autocommit=True)
    network = settings.DATABASE_NETWORK
    return psycopg.connect(settings.DATABASE_DIRECT_URL, **network, autocommit=True)


def is_pooled() -> bool:
    """Whether a pooler stands between Django's connection and PostgreSQL.

    The process id that a pooler gave us at the start belongs to no session of the server's.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (actual,) = cursor.fetchone()
    return bool(actual != connection.connection.info.backend_pid)
