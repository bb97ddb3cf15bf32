"""Admin: bank transfers that wait, what the operator does with them, and statements as files."""

from decimal import Decimal
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from pytest_django import Settings

from accounts.models import AuditEvent, User
from billing.bank_statements import exchange_1c
from billing.models import BankTransfer, Order, Seller
from billing.wallet import ledger
from tests.billing.bank_statements.statement_file import ACCOUNT, FILE
from tests.billing.bank_statements.transfers import paid, received
from tests.billing.top_ups import place_order
from tests.factories import CompanyFactory, SellerFactory

pytestmark = pytest.mark.django_db
LIST = "admin:billing_banktransfer_changelist"


@pytest.fixture
def invoice(operator: User) -> Order:
    SellerFactory.create(account=ACCOUNT)
    return place_order(CompanyFactory.create(name="Ромашка"), "invoice")


def act(client: Client, action: str, *transfers: BankTransfer) -> Any:
    chosen = {"action": action, "_selected_action": [transfer.pk for transfer in transfers]}
    return client.post(reverse(LIST), chosen, follow=True)


def test_waiting_transfers_come_first_and_on_today(client: Client, invoice: Order) -> None:
    waits = received(paid(invoice, party_inn=""))
    received(paid(place_order(invoice.company, "invoice"), document_number="18"))

    page = client.get(reverse(LIST))

    assert page.context["cl"].result_list[0] == waits
    reason = f"{waits.get_state_display()}: {waits.get_problem_display()}"
    assert reason in page.content.decode()
    today = client.get(reverse("admin:index"))
    assert f"{reverse(LIST)}?attention=yes" in today.content.decode()


def test_list_query_count_is_constant(client: Client, invoice: Order) -> None:
    received(paid(invoice))
    client.get(reverse(LIST))
    with CaptureQueriesContext(connection) as one:
        client.get(reverse(LIST))
    for number in ("18", "19"):
        received(paid(place_order(invoice.company, "invoice"), document_number=number))
    with CaptureQueriesContext(connection) as three:
        client.get(reverse(LIST))

    assert len(one) == len(three)


def test_action_credits_the_named_invoice(client: Client, invoice: Order) -> None:
    transfer = received(paid(invoice, amount=Decimal(1900), party_inn="7700000005"))

    act(client, "credit", transfer)
    page = act(client, "credit", transfer)

    assert ledger.balance(invoice.company_id) == (1000, 0)
    assert AuditEvent.objects.filter(action="transfer.assigned").count() == 1
    assert "0 " in page.content.decode()


@pytest.mark.parametrize(("action", "state"), [("give_back", "returned"), ("dismiss", "dismissed")])
def test_action_settles_the_chosen_transfers(
    client: Client, invoice: Order, action: str, state: str
) -> None:
    numbers = ("17", "18")
    transfers = [
        received(paid(invoice, party_inn="", document_number=number)) for number in numbers
    ]

    act(client, action, *transfers)

    assert {transfer.state for transfer in BankTransfer.objects.all()} == {state}
    assert AuditEvent.objects.filter(action=f"transfer.{state}").count() == 2
    assert ledger.balance(invoice.company_id) == (0, 0)


def test_second_transfer_for_a_paid_invoice_is_left_for_review(
    client: Client, invoice: Order
) -> None:
    received(paid(invoice))
    second = received(paid(invoice, document_number="18"))

    page = act(client, "credit", second)

    assert f"{invoice}" in page.content.decode()
    assert BankTransfer.objects.needs_review().get() == second


def test_transfer_is_assigned_to_an_invoice_by_its_number(client: Client, invoice: Order) -> None:
    transfer = received(paid(invoice, purpose="за токены"))
    address = reverse("admin:billing_banktransfer_assign", args=[transfer.pk])

    shown = client.get(address)
    wrong = client.post(address, {"order": "2026-999", "tokens": "ordered"})
    right = client.post(address, {"order": f" {invoice.number} ", "tokens": "ordered"})
    again = client.post(address, {"order": invoice.number, "tokens": "ordered"})

    assert list(shown.context["candidates"]) == [invoice]
    assert [wrong.status_code, right.status_code, again.status_code] == [200, 302, 302]
    assert ledger.balance(invoice.company_id) == (1000, 0)


def test_half_of_an_invoice_is_credited_as_it_came(client: Client, invoice: Order) -> None:
    transfer = received(paid(invoice, amount=invoice.amount / 2))
    address = reverse("admin:billing_banktransfer_assign", args=[transfer.pk])

    page = client.post(address, {"order": invoice.number, "tokens": "received"}, follow=True)

    assert "500" in page.content.decode()
    assert ledger.balance(invoice.company_id) == (500, 0)


def upload(client: Client, text: str = FILE) -> Any:
    file = SimpleUploadedFile("kl_to_1c.txt", text.encode("windows-1251"))
    address = reverse("admin:billing_banktransfer_upload")
    return client.post(address, {"file": file}, follow=True)


@pytest.mark.usefixtures("invoice")
def test_too_large_file_is_refused(client: Client, settings: Settings) -> None:
    """A form beyond the server's bound is refused unread, as one without its token."""
    page = upload(client, FILE + " " * exchange_1c.MAX_BYTES)

    assert "export fewer days" in page.content.decode() or "меньше дней" in page.content.decode()
    assert exchange_1c.MAX_BYTES + 2**16 < settings.DATA_UPLOAD_MAX_MEMORY_SIZE


def test_file_pays_invoices_once(client: Client, invoice: Order) -> None:
    text = FILE.replace("2026-17", invoice.number)

    pages = [upload(client, text), upload(client, text)]

    assert [page.redirect_chain[-1][0] for page in pages] == [reverse(LIST)] * 2
    assert ledger.balance(invoice.company_id) == (995, 0)  # and 10.50 of 1900.00 went back
    assert BankTransfer.objects.count() == 2


def test_file_whose_only_transfer_cannot_be_read_says_so(client: Client, invoice: Order) -> None:
    broken = FILE.replace("Сумма=", "Сумма=x")

    page = upload(client, broken).content.decode()

    assert "прочитать не удалось" in page
    assert not BankTransfer.objects.exists()


def test_file_of_another_account_is_refused(client: Client, invoice: Order) -> None:
    Seller.objects.update(account="40702810900000000777")

    page = upload(client)

    assert "40702810900000000777" in page.content.decode()
    assert not BankTransfer.objects.exists()
