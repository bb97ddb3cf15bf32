"""Filling many companies' history: continued, enlarged, and kept away from real companies."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from accounts.models import Company
from channels.models import Message
from otp.demo_history import filling

pytestmark = pytest.mark.django_db


def seeded(messages: int, **options: object) -> str:
    out = StringIO()
    shape = {"companies": 5, "months": 1} | options
    call_command("seed_history", messages=messages, stdout=out, **shape)
    return out.getvalue()


def test_months_before_have_partitions_of_their_own() -> None:
    seeded(60, months=2)

    with connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT tableoid::regclass FROM channels_message")
        assert len(cursor.fetchall()) >= 2


def test_interrupted_run_is_continued(monkeypatch: pytest.MonkeyPatch) -> None:
    chunk, done = filling._seed_chunk, 0

    def killed(*arguments: Any) -> None:
        nonlocal done
        if done == 10:
            raise KeyboardInterrupt
        chunk(*arguments)
        done += 1

    with monkeypatch.context() as patch:
        patch.setattr(filling, "_seed_chunk", killed)
        with pytest.raises(KeyboardInterrupt):
            seeded(300)
    before = Message.objects.count()
    seeded(300)

    assert 0 < before < 300
    assert Message.objects.count() == 300


def test_larger_history_keeps_the_smaller_one() -> None:
    seeded(60)
    first = {*Message.objects.values_list("pk", flat=True)}

    assert seeded(60).startswith("0 messages added")
    seeded(150)

    assert Message.objects.count() == 150
    assert first < {*Message.objects.values_list("pk", flat=True)}
    assert Company.objects.count() == 5


def test_real_companies_are_not_mixed_with_made_up_ones(company: Company) -> None:
    with pytest.raises(CommandError, match="Ромашка"):
        seeded(10)
    assert not Message.objects.exists()

    seeded(10, beside_real_companies=True)

    assert Message.objects.count() == 10
    assert not company.messages.exists()


@pytest.mark.parametrize("options", [{"company": "X"}, {"months": 0}, {"companies": -1}])
def test_senseless_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(CommandError):
        seeded(10, **options)
