"""A single statement commits by itself or joins its caller's transaction, and opens nothing."""

from typing import NamedTuple

import pytest
from django.db import IntegrityError, ProgrammingError, connection, transaction
from django.db.transaction import TransactionManagementError

from storage.statements.single_statement import after_commit, fetch_rows
from tests.sql import execute

INSERT = """
INSERT INTO accounts_cacheentry (key, value, expires_at)
VALUES (%(key)s::text, '"20%%"', now()) RETURNING key || %(key)s::text AS twice, value::text
"""


class Twice(NamedTuple):
    twice: str
    value: str


class Number(NamedTuple):
    number: int


def insert(key: str) -> list[Twice]:
    return fetch_rows(INSERT, {"key": key}, Twice)


def number_of_rows() -> int:
    (row,) = fetch_rows("SELECT count(*) AS number FROM accounts_cacheentry", [], Number)
    return row.number


@pytest.fixture
def no_connection(transactional_db: None) -> None:
    connection.close()


@pytest.mark.django_db
def test_parameters_are_named_or_in_order() -> None:
    assert insert("a") == [Twice("aa", '"20%"')]
    assert fetch_rows("SELECT %s::int - %s::int AS number", [5, 3], Number) == [Number(2)]


@pytest.mark.usefixtures("no_connection")
def test_statement_is_a_commit_and_holds_no_connection() -> None:
    insert("a")

    assert connection.connection is None
    assert execute("SELECT key FROM accounts_cacheentry") == [("a",)]


@pytest.mark.usefixtures("no_connection")
def test_statement_joins_a_transaction() -> None:
    with transaction.atomic():
        insert("a")
        assert number_of_rows() == 1
        transaction.set_rollback(True)

    assert number_of_rows() == 0


@pytest.mark.usefixtures("no_connection")
def test_statement_uses_the_connection_of_its_thread() -> None:
    connection.ensure_connection()
    own = connection.connection

    insert("a")

    assert connection.connection is own


@pytest.mark.usefixtures("no_connection")
def test_statement_commits_after_a_connection_closed_in_a_transaction() -> None:
    connection.set_autocommit(False)
    connection.close()  # goes back to the pool as it is

    for key in "abcdefgh":  # whichever connection of the pool it is
        insert(key)

    assert number_of_rows() == 8
    assert execute("SELECT count(*) FROM accounts_cacheentry")[0] == (8,)


@pytest.mark.usefixtures("no_connection")
def test_transaction_with_a_lost_connection_runs_no_statement() -> None:
    with transaction.atomic():
        connection.close()
        with pytest.raises(ProgrammingError, match="in an atomic block"):
            insert("a")

    assert number_of_rows() == 0


@pytest.mark.usefixtures("no_connection")
def test_errors_are_those_of_django() -> None:
    insert("a")

    with pytest.raises(IntegrityError) as caught:
        insert("a")

    assert caught.value.__cause__.diag.constraint_name == "accounts_cacheentry_pkey"  # type: ignore[union-attr]
    assert number_of_rows() == 1  # with the connection that failed


@pytest.mark.usefixtures("no_connection")
def test_broken_transaction_takes_no_statement() -> None:
    insert("a")

    with transaction.atomic():
        with pytest.raises(IntegrityError), transaction.atomic(savepoint=False):
            insert("a")
        with pytest.raises(TransactionManagementError):
            insert("b")
        transaction.set_rollback(True)


@pytest.mark.usefixtures("no_connection")
def test_action_runs_after_the_commit() -> None:
    done: list[str] = []

    after_commit(lambda: done.append("at once"))
    assert connection.connection is None  # nothing was opened for that
    with transaction.atomic():
        after_commit(lambda: done.append("later"))
        assert done == ["at once"]

    assert done == ["at once", "later"]
