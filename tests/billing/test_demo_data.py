"""Demo data: prices, a paid and an unpaid invoice, and exactly a million tokens."""

import json
from pathlib import Path

import pytest
from django.core.management import call_command
from pytest_django import Settings

from accounts.models import Company
from billing.models import Order, Package, Seller
from billing.requisites import is_inn
from billing.wallet import ledger
from channels import reconciliation

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def demo(tmp_path: Path, settings: Settings) -> Path:
    settings.VAR_DIR = tmp_path
    call_command("seed_demo")
    return tmp_path / "demo.json"


def test_demo_has_a_million_tokens_and_clean_books(demo: Path) -> None:
    company = Company.objects.get(name=json.loads(demo.read_text(encoding="utf-8"))["company"])

    assert ledger.balance(company.pk) == (1_000_000, 0)
    assert list(reconciliation.breaches()) == []
    assert sorted(company.orders.values_list("state", "gateway")) == [
        ("paid", "invoice"),
        ("pending", "invoice"),
    ]
    assert Package.objects.on_sale().count() == 3


def test_demo_is_made_once(demo: Path) -> None:
    call_command("seed_demo")
    demo.unlink()  # keys lost: new ones are made, and nothing else
    call_command("seed_demo")

    assert Order.objects.count() == 2
    assert Company.objects.count() == 2


def test_requisites_are_valid_and_evidently_fictional(demo: Path) -> None:
    seller, order = Seller.objects.get(), Order.objects.invoices().earliest("created_at")

    assert is_inn(seller.inn)
    assert is_inn(order.parties["buyer"]["inn"])
    assert "Демонстрация" in seller.name
