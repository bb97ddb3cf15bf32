"""Demo history: complete, consistent with the ledger, and the same each time."""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from pytest_django import Settings

from accounts.models import Company
from billing.models import Transfer
from billing.wallet import ledger
from channels.history import figures
from channels.models import Message
from channels.reconciliation import breaches
from otp import demo_history
from otp.models import Verification


def seeded(company: Company, **options: object) -> None:
    call_command("seed_history", company=company.name, stdout=StringIO(), **options)


@pytest.mark.django_db(transaction=True)
def test_books_agree_with_demo_history(company: Company) -> None:
    before = ledger.balance(company.pk)

    seeded(company, messages=500, days=10)

    assert company.messages.count() == 500
    assert ledger.balance(company.pk) == before
    assert list(breaches()) == []
    first = Transfer.objects.filter(company=company).order_by("created_at", "id")[0]
    assert first.kind == "grant"  # so that no line of the statement is below zero


def test_figures_show_it(company: Company) -> None:
    seeded(company, messages=400, days=20)

    found = figures.figures(company, "live")

    assert 220 < found.now.messages < 300
    assert 80 < (found.now.delivered_share or 0) < 100
    assert set(found.medians) == {"", "whatsapp", "telegram", "sms"}
    assert list(found.days.values())[-1].total() == 0  # today is left to the living


def test_same_call_makes_the_same_history(company: Company) -> None:
    demo_history.seed(company=company, mode="test", messages=60, days=3)
    first = list(Message.objects.order_by("id").values("id", "phone", "state", "created_at"))
    Message.objects.all().delete()
    Verification.objects.all().delete()

    demo_history.seed(company=company, mode="test", messages=60, days=3)

    again = list(Message.objects.order_by("id").values("id", "phone", "state", "created_at"))
    assert again == first
    assert {row["created_at"] < timezone.now() for row in again} == {True}


def test_demo_history_is_made_once(company: Company) -> None:
    seeded(company, messages=10, days=1)

    with pytest.raises(CommandError):
        seeded(company, messages=10, days=1)


def test_production_refuses_demo_history(company: Company, settings: Settings) -> None:
    settings.PRODUCTION = True

    with pytest.raises(CommandError):
        seeded(company, messages=1, days=1)

    assert not Message.objects.exists()


def test_company_must_be_there(db: None) -> None:
    with pytest.raises(CommandError):
        call_command("seed_history", company="Nobody")


@pytest.mark.django_db(transaction=True)
def test_demo_company_has_history_and_its_tokens(settings: Settings, tmp_path: Path) -> None:
    settings.VAR_DIR = tmp_path

    call_command("seed_demo", stdout=StringIO())
    call_command("seed_demo", stdout=StringIO())

    company = Company.objects.get(name="Демо")
    assert company.messages.count() == 900
    assert ledger.balance(company.pk) == (1_000_000, 0)
    assert list(breaches()) == []
    assert figures.figures(company, "live").now.messages > 300
