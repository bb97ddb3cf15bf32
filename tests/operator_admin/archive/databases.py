"""A database of the test's own: `pg_dump` sees only what is committed, and months that were dropped
do not come back.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection

from tests.operator_admin.backup.copies import execute


@contextmanager
def copied(template: str, name: str) -> Iterator[None]:
    """Connects this thread to a copy of the template inside the block."""
    settings = connection.settings_dict
    _disconnect(settings)
    execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
    execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    _disconnect(settings | {"NAME": name})
    try:
        yield
    finally:
        _disconnect(settings)
        execute(f"DROP DATABASE {name} WITH (FORCE)")


def _disconnect(settings: dict[str, Any]) -> None:
    """The next statement connects by these settings."""
    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]
    connection.settings_dict = settings
