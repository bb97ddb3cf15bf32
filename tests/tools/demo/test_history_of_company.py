"""The history of one company: complete, consistent with the ledger, and the same each time."""

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
def test_books_agree(company: Company) -> None:
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
