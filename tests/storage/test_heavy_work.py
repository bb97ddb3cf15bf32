"""A flood of what takes a processor for long leaves threads and connections to codes and links."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Company, Member
from billing.orders.pdf import DRAWING
from billing.signed_links import DOCUMENTS, INVOICES
from links.link_imports import READING
from storage.heavy_work import HeavyWork
from tests.document_factories import DocumentFactory
from tests.factories import OrderFactory

pytestmark = pytest.mark.django_db
Call = Callable[[Client, Company], Any]


def _invoice(client: Client, company: Company) -> Any:
    order = OrderFactory.create(company=company, invoice_year=2026, invoice_number=1)
    return client.get(reverse("invoice-file", args=[INVOICES.token(order.pk)]))


def _document(client: Client, company: Company) -> Any:
    document = DocumentFactory.create(company=company)
    return client.get(reverse("document-file", args=[DOCUMENTS.token(document.pk), "pdf"]))


def _today() -> dict[str, str]:
    return dict.fromkeys(("date_from", "date_to"), f"{timezone.localdate():%Y-%m-%d}")


def _statement(client: Client, company: Company) -> Any:
    return client.get(reverse("period-pdf"), _today())


def _act(client: Client, company: Company) -> Any:
    return client.get(reverse("reconciliation-pdf"), _today())


def _import(client: Client, company: Company) -> Any:
    file = SimpleUploadedFile("links.csv", b"url\nhttps://example.com/1\n")
    return client.post(reverse("link-import"), {"file": file, "mode": "test"})


@pytest.mark.parametrize(
    ("work", "call"),
    [
        (DRAWING, _invoice),
        (DRAWING, _document),
        (DRAWING, _statement),
        (DRAWING, _act),
        (READING, _import),
    ],
)
def test_what_comes_on_top_is_told_that_the_service_is_busy(
    client: Client, owner: Member, work: HeavyWork, call: Call
) -> None:
    with ExitStack() as turns:
        for _ in range(work.turns._value):
            turns.enter_context(work.turn())
        busy = call(client, owner.company)

    assert busy.status_code == 503
    assert busy["Retry-After"] == "5"
