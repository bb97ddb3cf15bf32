"""A history whose indexes are built afterwards is the one that is written row by row."""

from collections.abc import Mapping
from typing import Any

import pytest
from django.db import connection, transaction

from channels import reconciliation
from channels.models import OpenMessage
from tools.demo import history, months

pytestmark = pytest.mark.django_db
MESSAGES = 300
_ROWS = """
SELECT 'message ' || id || state || price || phone || is_undelivered FROM channels_message
UNION ALL SELECT 'attempt ' || id || message_id || n || state FROM channels_attempt
UNION ALL SELECT 'code ' || id || COALESCE(verified_at, created_at) FROM otp_verification
UNION ALL SELECT 'transfer ' || message_id || kind || hold || amount || created_at
  FROM billing_transfer WHERE message_id IS NOT NULL"""


@pytest.fixture
def detached(monkeypatch: pytest.MonkeyPatch) -> list[Mapping[str, str]]:
    """What was filled without indexes: each month but the days that lie in two of UTC."""
    found: list[Mapping[str, str]] = []
    insert = history._fill_chunk

    def insert_and_note(params: Any, first: int, count: int, into: Mapping[str, str]) -> None:
        insert(params, first, count, into)
        found.append(into)

    monkeypatch.setattr(history, "BULK", 1)
    monkeypatch.setattr(history, "_fill_chunk", insert_and_note)
    monkeypatch.setattr(months, "is_alone", lambda: True)
    return found


def seed() -> None:
    history.of_companies(3, messages=MESSAGES, months=1)


def rows() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(_ROWS)
        return sorted(row for (row,) in cursor.fetchall())


def test_rows_are_the_same(detached: list[Mapping[str, str]]) -> None:
    with pytest.MonkeyPatch.context() as patch, transaction.atomic():
        patch.setattr(history, "BULK", MESSAGES)
        seed()
        expected = rows()
        transaction.set_rollback(True)

    seed()

    assert rows() == expected
    assert sum(map(bool, detached)) >= 28
    assert list(reconciliation.run(reconciliation.CHECKS, reconciliation.ALL)) == []
    assert not OpenMessage.objects.exists()
