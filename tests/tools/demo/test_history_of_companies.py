"""Filling many companies' history: continued, enlarged, and kept away from real companies."""

from typing import Any

import pytest

from accounts.models import Company
from channels.models import Message
from tools.demo import DemoError, history

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
