"""The history of demo companies: complete, consistent with the ledger, apart from real ones."""

from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from accounts.models import Company
from billing.models import Transfer
from billing.seals import sealing
from billing.wallet import ledger
from channels.models import Message
from channels.reconciliation import breaches
from tools.demo import DemoError, history, past_transfers


@pytest.mark.django_db(transaction=True)
def test_history_of_a_company_leaves_its_books_balanced(company: Company) -> None:
    before = ledger.balance(company.pk)

    history.fill_company(company, messages=500, days=10)

    assert company.messages.count() == 500
    assert ledger.balance(company.pk) == before
    assert list(breaches()) == []
    first = Transfer.objects.filter(company=company).order_by("created_at", "id")[0]
    assert first.kind == "grant"  # so that no line of the statement is below zero


def test_same_call_makes_the_same_history(company: Company) -> None:
    with transaction.atomic():
        history.fill_company(company, messages=60, days=3)
        first = messages()
        transaction.set_rollback(True)

    history.fill_company(company, messages=60, days=3)

    assert messages() == first
    assert {row["created_at"] < timezone.now() for row in first} == {True}


def messages() -> list[Any]:
    return list(Message.objects.order_by("id").values("id", "phone", "state", "created_at"))


def test_nothing_is_booked_into_sealed_days(company: Company) -> None:
    history.fill_company(company, messages=10, days=3)
    sealing.seal_before(timezone.now().date())

    with pytest.raises(DemoError, match="sealed"), connection.cursor() as cursor:
        past_transfers.book(cursor, "SELECT", {})


def fill(messages: int, *, companies: int = 5, months: int = 1) -> None:
    history.of_companies(companies, messages=messages, months=months)


@pytest.mark.django_db
def test_interrupted_run_is_continued(monkeypatch: pytest.MonkeyPatch) -> None:
    fill_batch = history._fill_batch
    done = 0

    def killed(*arguments: Any) -> None:
        nonlocal done
        if done == 10:
            raise KeyboardInterrupt
        fill_batch(*arguments)
        done += 1

    with monkeypatch.context() as patch:
        patch.setattr(history, "_fill_batch", killed)
        with pytest.raises(KeyboardInterrupt):
            fill(300)
    before = Message.objects.count()
    fill(300)

    assert 0 < before < 300
    assert Message.objects.count() == 300


@pytest.mark.django_db
def test_larger_history_extends_smaller_one(capsys: pytest.CaptureFixture[str]) -> None:
    fill(60)
    first = {*Message.objects.values_list("pk", flat=True)}

    capsys.readouterr()
    fill(60)
    assert "0 messages added" in capsys.readouterr().out
    fill(150)

    assert Message.objects.count() == 150
    assert first < {*Message.objects.values_list("pk", flat=True)}
    assert Company.objects.count() == 5


@pytest.mark.django_db
def test_real_companies_are_not_mixed_with_made_up_ones(company: Company) -> None:
    with pytest.raises(DemoError, match="Ромашка"):
        fill(10)
    assert not Message.objects.exists()

    history.of_companies(5, messages=10, months=1, beside_real_companies=True)

    assert Message.objects.count() == 10
    assert not company.messages.exists()
