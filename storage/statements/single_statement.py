"""Runs a statement in its own transaction, unless its caller is in one.

For the hot calls. It borrows a connection from the pool without Django's connection and cursor
(40 µs), and parses a statement's placeholders once: psycopg parses those of more than 4,096
characters, or of 50 parameters, each time (130 µs for the statement of a send).
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import psycopg
from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from storage.statements.named_rows import Row, fetch_all

Params = Mapping[str, Any] | Sequence[Any]
_PLACEHOLDER = re.compile(r"%(?:\((\w+)\))?s|%%")


class _NumberedStatement(NamedTuple):
    """A statement with `$1` in place of `%s` or `%(name)s`."""

    text: bytes
    names: Sequence[str]  # of the parameters in this order; empty with `%s`


def fetch_rows(statement: str, params: Params, make: Callable[..., Row]) -> list[Row]:
    """Calls `make` for each row, as `named_rows.fetch_all` does; raises Django's errors."""
    wrapper = connections[DEFAULT_DB_ALIAS]  # once: each lookup costs 2 µs
    if wrapper.queries_logged or wrapper.execute_wrappers:  # statements are counted or explained
        with wrapper.cursor() as cursor:
            cursor.execute(statement, params)
            return fetch_all(cursor, make)
    text, names = _number_parameters(statement)
    values = [params[name] for name in names] if isinstance(params, Mapping) else params
    with wrapper.wrap_database_errors, _session(wrapper) as session:
        return fetch_all(psycopg.RawCursor(session).execute(text, values), make)


def after_commit(action: Callable[[], object]) -> None:
    """Runs the action like `transaction.on_commit`, without a connection if there is none yet."""
    if connection.in_atomic_block:
        transaction.on_commit(action)
    else:
        action()


@contextmanager
def _session(wrapper: BaseDatabaseWrapper) -> Iterator[psycopg.Connection[Any]]:
    """The thread's connection if it has one, which may be in a transaction; else the pool's."""
    pool = wrapper.pool  # type: ignore[attr-defined]
    if wrapper.connection is not None or wrapper.in_atomic_block or pool is None:
        wrapper.ensure_connection()
        wrapper.validate_no_broken_transaction()
        yield wrapper.connection
        return
    pool.open()
    session = pool.getconn()
    try:
        if not session.autocommit:  # it was closed in a transaction
            session.autocommit = True
        yield session
    finally:
        pool.putconn(session)


@lru_cache(maxsize=256)
def _number_parameters(statement: str) -> _NumberedStatement:
    names: dict[str, int] = {}
    count = 0

    def number(match: re.Match[str]) -> str:
        nonlocal count
        if match[0] == "%%":
            return "%"
        count += 1
        return f"${names.setdefault(match[1], len(names) + 1) if match[1] else count}"

    text = _PLACEHOLDER.sub(number, statement)
    return _NumberedStatement(text.encode(), tuple(names))
