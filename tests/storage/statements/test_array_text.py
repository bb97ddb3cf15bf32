"""PostgreSQL reads the elements that were given, whatever is in them."""

from typing import NamedTuple

import pytest

from storage.statements.json_rows import array_text
from storage.statements.single_statement import fetch_rows

TEXTS = [
    "",
    "a",
    "NULL",
    "a,b",
    "{a}",
    '"',
    "\\",
    '\\"',
    "\\x61",
    " a ",
    "a\nb\t",
    "это",
    "%s",
    "'",
]
BYTES = [b"", b"a", bytes(range(256)), b'"\\']


class Read(NamedTuple):
    texts: list[str]
    octets: list[bytes]


def read(texts: list[str], octets: list[bytes]) -> Read:
    statement = "SELECT %s::text[] AS texts, %s::bytea[] AS octets"
    (row,) = fetch_rows(statement, [array_text(texts), array_text(octets)], Read)
    return row


@pytest.mark.django_db
def test_elements_are_read_as_given() -> None:
    assert read(TEXTS, BYTES) == Read(TEXTS, BYTES)


@pytest.mark.django_db
def test_array_may_be_empty() -> None:
    assert read([], []) == Read([], [])
