"""The database's clock: what its rows are timed by. A process's own may be seconds ahead."""

from datetime import datetime
from typing import cast

from django.db import connection


def database_now() -> datetime:
    """One round trip; within a transaction later than its start."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (now,) = cursor.fetchone()
    return cast(datetime, now)
