"""The scratch database: how it is filled and weighed."""

import time
from dataclasses import dataclass

import psycopg

from tools.demo import history

_WEIGHTS = """
SELECT regexp_replace(relname, '_([0-9]{4}_[0-9]{2}|other)$', ''), sum(pg_total_relation_size(oid))
FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
GROUP BY 1 ORDER BY 2 DESC LIMIT 12"""


@dataclass(frozen=True, slots=True)
class Filling:
    """What it took to have so many messages."""

    messages: int
    seconds: float
    bytes: int  # of the database
    tables: dict[str, int]  # bytes of the largest, indexes included


def fill(url: str, messages: int, *, companies: int, months: int) -> Filling:
    """Before anybody else connects: the months of a database in use are filled more slowly."""
    began = time.monotonic()
    history.of_companies(companies, messages=messages, months=months)
    with psycopg.connect(url, autocommit=True) as store:
        return _weighed(store, messages, began)


def _weighed(store: psycopg.Connection, messages: int, began: float) -> Filling:
    store.execute("VACUUM (ANALYZE)")
    store.execute("CHECKPOINT")
    seconds = round(time.monotonic() - began, 1)
    tables = {str(name): int(size) for name, size in store.execute(_WEIGHTS).fetchall()}
    size = store.execute("SELECT pg_database_size(current_database())").fetchone()
    return Filling(messages, seconds, int(size[0]) if size else 0, tables)
