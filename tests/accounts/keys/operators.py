"""An operator in psql, on their own connection."""

from typing import Any

import psycopg
from django.db import connection

Session = psycopg.Connection[tuple[Any, ...]]
REVOKE = "UPDATE accounts_apikey SET revoked_at = now() WHERE id = %s"
SUSPEND = "UPDATE accounts_company SET status = 'suspended' WHERE id = %s"


def session(**params: Any) -> Session:
    return psycopg.connect(**connection.get_connection_params() | params, autocommit=True)
