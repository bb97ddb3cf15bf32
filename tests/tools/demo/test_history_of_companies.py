"""Filling many companies' history: continued, enlarged, and kept away from real companies."""

from collections.abc import Mapping
from typing import Any

import pytest
from django.db import connection, transaction

from accounts.models import Company
from channels import reconciliation
from channels.models import Message, OpenMessage
from tools.demo import DemoError, history, months

pytestmark = pytest.mark.django_db


def fill(messages: int, *, companies: int = 5, months: int = 1) -> None:
    history.of_companies(companies, messages=messages, months=months)


def test_interrupted_run_is_continued(monkeypatch: pytest.MonkeyPatch) -> None:
    chunk, done = history._fill_chunk, 0

    def killed(*arguments: Any) -> None:
        nonlocal done
        if done == 10:
            raise KeyboardInterrupt
        chunk(*arguments)
        done += 1

    with monkeypatch.context() as patch:
        patch.setattr(history, "_fill_chunk", killed)
        with pytest.raises(KeyboardInterrupt):
            fill(300)
    before = Message.objects.count()
    fill(300)

    assert 0 < before < 300
    assert Message.objects.count() == 300


def test_larger_history_keeps_the_smaller_one(capsys: pytest.CaptureFixture[str]) -> None:
    fill(60)
    first = {*Message.objects.values_list("pk", flat=True)}

    capsys.readouterr()
    fill(60)
    assert "0 messages added" in capsys.readouterr().out
    fill(150)

    assert Message.objects.count() == 150
    assert first < {*Message.objects.values_list("pk", flat=True)}
    assert Company.objects.count() == 5


def test_real_companies_are_not_mixed_with_made_up_ones(company: Company) -> None:
    with pytest.raises(DemoError, match="Ромашка"):
        fill(10)
    assert not Message.objects.exists()

    history.of_companies(5, messages=10, months=1, beside_real_companies=True)

    assert Message.objects.count() == 10
    assert not company.messages.exists()


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
