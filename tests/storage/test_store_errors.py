"""A rejected row does not take the others with it; a store that is away is no refusal."""

from collections.abc import Sequence

import psycopg
import pytest
from django.db import DataError, OperationalError, ProgrammingError, connection
from psycopg.errors import FeatureNotSupported, IdleInTransactionSessionTimeout, RaiseException
from redis.exceptions import ConnectionError as RedisConnectionError

from accounts.models import AuditEvent
from parsing.characters import stored_text
from storage.store_errors import is_outage, is_refusal, write_together


@pytest.mark.parametrize(
    ("error", "refuses"),
    [
        (DataError(), True),
        (ProgrammingError(), False),
        (FeatureNotSupported(), False),  # the plan of a statement whose table changed
        (IdleInTransactionSessionTimeout(), False),
        (RaiseException(), True),
        (OverflowError(), True),
        (OperationalError(), False),
        (psycopg.OperationalError(), False),
        (RedisConnectionError(), False),
        (TimeoutError(), False),
    ],
)
def test_refusal_is_distinguished_from_an_outage(error: Exception, refuses: bool) -> None:
    assert is_refusal(error) is refuses


@pytest.mark.django_db
def test_error_of_a_connection_that_works_is_not_an_outage() -> None:
    assert not is_outage(OperationalError("canceling statement due to statement timeout"))
    assert not is_outage(ValueError())
    assert is_outage(RedisConnectionError())


@pytest.mark.django_db
def test_rows_around_a_refused_one_are_written() -> None:
    refused: list[tuple[str, str]] = []

    def write(texts: Sequence[str]) -> None:
        for text in texts:
            AuditEvent.objects.create(action="key.created", subject=text)

    write_together(
        ["a", "b", "\0", "c", "\ud800", "d"],
        write,
        lambda text, error: refused.append((text, type(error).__name__)),
    )

    assert sorted(AuditEvent.objects.values_list("subject", flat=True)) == ["a", "b", "c", "d"]
    assert refused == [("\0", "DataError"), ("\ud800", "UnicodeEncodeError")]


@pytest.mark.django_db
def test_outage_ends_the_writing() -> None:
    calls: list[int] = []

    def write(rows: Sequence[int]) -> None:
        calls.append(len(rows))
        raise OperationalError("the server closed the connection")

    with pytest.raises(OperationalError):
        write_together([1, 2, 3, 4], write, lambda _row, _error: None)

    assert calls == [4]
    assert connection.is_usable()


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        (None, ""),
        ("plain", "plain"),
        ("\0x\0", "x"),
        ("\ud800", "?"),
        ("n" * 41, "n" * 40),
        ("ночь 🌒", "ночь 🌒"),
    ],
)
def test_text_is_as_a_column_takes_it(text: str | None, stored: str) -> None:
    assert stored_text(text, 40) == stored
