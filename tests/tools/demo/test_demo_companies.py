"""The demo companies: prices, orders, a history, and exactly a million tokens."""

import json
from pathlib import Path

import pytest
from pytest_django import Settings

from accounts.models import Company
from billing.bank_statements.matching import currency_of
from billing.models import Order, Package, Seller
from billing.wallet import ledger
from channels import reconciliation
from channels.history import figures
from channels.models import Message
from compat.dialect import dialects
from identity_hooks.kinds import kinds
from tests.compat.clients import DialectClient
from tests.identity_hooks.calls import send, simulated
from tools.demo import DemoError, demo_json
from tools.demo.__main__ import make, options_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def demo(tmp_path: Path, settings: Settings) -> Path:
    settings.VAR_DIR = tmp_path
    demo_json.write()
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
    assert company.messages.count() == 900
    assert figures.figures(company, "live").now.messages > 300


def test_demo_reads_statements_of_its_seller(demo: Path) -> None:
    assert currency_of(Seller.objects.get().account[5:8]) == "RUB"


def test_demo_has_keys_for_other_services_clients(demo: Path) -> None:
    made = json.loads(demo.read_text(encoding="utf-8"))
    Company.objects.update(status=Company.Status.APPROVED)  # as in development by itself
    client = DialectClient(dialects()["twilio"], made["verify_key"])

    service = client.get(f"/v2/Services/{made['twilio_service']}")

    assert (service.status, service.body["sid"]) == (200, made["twilio_service"])
    assert made["compat"]["twilio"].endswith("/compat/twilio")
    assert set(made["compat"]) == set(dialects())


def test_demo_is_made_once(demo: Path) -> None:
    demo_json.write()
    demo.unlink()  # keys lost: new ones are made, and nothing else
    demo_json.write()

    assert Order.objects.count() == 2
    assert Company.objects.count() == 2
    assert Message.objects.count() == 900


def test_demo_has_a_hook_of_each_kind_that_works(
    demo: Path, queued_at_once: None, settings: Settings
) -> None:
    stored = json.loads(demo.read_text(encoding="utf-8"))["sockets"]
    Company.objects.update(status=Company.Status.APPROVED)
    company = Company.objects.get(identity_hooks__url_id=stored["logto"]["url"].rpartition("/")[2])

    responses = {
        hook.kind: send(
            hook,
            simulated(hook, phone=f"+791612345{n:02}", secret=stored[hook.kind]["secret"]),
            stored[hook.kind]["url"].removeprefix(settings.PUBLIC_URL),
        ).status_code
        for n, hook in enumerate(company.identity_hooks.all())
    }

    assert responses == dict.fromkeys(kinds(), 200)
    demo_json.write()
    assert json.loads(demo.read_text(encoding="utf-8"))["sockets"] == stored


@pytest.mark.parametrize("text", [[], ["history", "--messages", "1"]])
def test_demo_data_is_refused_in_production(text: list[str], settings: Settings) -> None:
    settings.PRODUCTION = True

    with pytest.raises(DemoError):
        make(options_of(text))

    assert not Company.objects.exists()
