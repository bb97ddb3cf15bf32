"""Invoices in PDF: their text, and when they freeze."""

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from io import BytesIO
from pathlib import Path
from urllib.parse import urlsplit

import pypdf
import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone, translation

from accounts.models import Company
from billing.models import Order, Seller
from billing.orders import billing_profiles, invoice_pdf, invoices, pdf
from billing.signed_links import INVOICES
from tests.api.blocking import start_blocked
from tests.billing.top_ups import place_order
from tests.factories import CompanyFactory, MemberFactory, SellerFactory

pytestmark = pytest.mark.django_db
AT = datetime(2026, 3, 5, 21, 30, tzinfo=UTC)  # the sixth of March in Moscow
BUYER = {"legal_name": "ООО «Ромашка»", "inn": "7707083893", "kpp": "770701001", "address": "Мск"}


@pytest.fixture
def buyer() -> Company:
    company: Company = CompanyFactory.create(name="Ромашка")
    billing_profiles.change(company=company, user=MemberFactory.create().user, changes=BUYER)
    return company


@pytest.fixture
def issue(buyer: Company) -> Callable[..., Order]:
    """An invoice with a number and a day of its own."""

    def make(company: Company = buyer, **seller: object) -> Order:
        SellerFactory.create()
        Seller.objects.update(**seller)
        order = place_order(company, "invoice")
        order.created_at = order.expires_at = AT
        order.invoice_year = 2026
        order.invoice_number = 17
        order.save()
        return order

    return make


def text_of(order: Order) -> str:
    reader = pypdf.PdfReader(BytesIO(invoice_pdf.draw(invoices.document(order))))
    assert len(reader.pages) == 1
    return " ".join(reader.pages[0].extract_text().replace("\u00a0", " ").split())


def test_drawing_fills_no_log(
    issue: Callable[..., Order], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)

    text_of(issue())

    assert [record for record in caplog.records if record.name.startswith("font")] == []


def test_russian_invoice_has_every_detail(issue: Callable[..., Order]) -> None:
    text = text_of(issue())

    for phrase in (
        "Счёт на оплату № 2026-17 от 6 марта 2026 г.",
        "ПАО «Пример-банк», г. Москва Банк получателя",
        "БИК 044500000",
        "Сч. № 30100000000000000001",
        "Сч. № 40700000000000000001",
        "Покупатель: ООО «Ромашка», ИНН 7707083893, КПП 770701001, Мск",
        "1 Токены сервиса Kvitok 1 000 шт. 1,90 ₽ 1 900,00 ₽",
        "Итого к оплате: 1 900,00 ₽",
        "В том числе НДС 22 %: 342,62 ₽",
        "Одна тысяча девятьсот рублей 00 копеек",
        "Оплатите до 06.03.2026.",
        "/ Петров П. П. /",
    ):
        assert phrase in text, text


def test_seller_who_pays_no_vat(issue: Callable[..., Order]) -> None:
    assert "Без НДС" in text_of(issue(vat_rate=None))


def test_english_invoice_has_the_details_abroad(issue: Callable[..., Order]) -> None:
    company = CompanyFactory.create(name="Acme Ltd", language="en", country="GB")
    order = issue(company, details_abroad="Seller LLC\nIBAN XX00 0000", vat_rate=None)

    text = text_of(order)

    for phrase in (
        "Invoice No. 2026-17 of 6 March 2026",
        "Seller LLC IBAN XX00 0000",
        "Customer: Acme Ltd",
        "Total due: ₽1,900.00",
        "VAT not applicable",
    ):
        assert phrase in text, text
    assert "рубл" not in text


def test_invoice_s_code_to_scan_has_the_bank_fields(issue: Callable[..., Order]) -> None:
    fields = invoices.document(issue()).code.split("|")

    assert fields == [
        "ST00012",
        "Name=ООО «Продавец»",
        "PersonalAcc=40700000000000000001",
        "BankName=ПАО «Пример-банк», г. Москва",
        "BIC=044500000",
        "CorrespAcc=30100000000000000001",
        "Sum=190000",
        "Purpose=Оплата по счёту № 2026-17 от 06.03.2026 за токены сервиса Kvitok. "
        "В том числе НДС 22 %: 342,62 руб.",
        "PayeeINN=7700000009",
        "KPP=770001001",
    ]


def test_separator_inside_a_name_separates_nothing(issue: Callable[..., Order]) -> None:
    code = invoices.document(issue(name="А|Б", kpp="")).code

    assert code.split("|")[1] == "Name=А Б"
    assert "KPP" not in code


def test_price_that_does_not_divide(issue: Callable[..., Order]) -> None:
    order = issue()
    order.tokens = 3
    order.amount = Decimal("10.00")

    assert invoices.document(order).price == "3,3333\u00a0₽"


def test_later_billing_details_change_only_unpaid_invoices(
    issue: Callable[..., Order], buyer: Company
) -> None:
    order = issue()
    paid = place_order(buyer, "invoice")
    paid.mark_paid()
    Seller.objects.update(name="ООО «Другое»")
    user = MemberFactory.create().user

    changed = billing_profiles.change(
        company=buyer, user=user, changes={"legal_name": "ООО «Лютик»"}
    )

    order.refresh_from_db()
    paid.refresh_from_db()
    assert changed == ["legal_name"]
    assert [invoice.parties["buyer"]["name"] for invoice in (order, paid)] == [
        "ООО «Лютик»",
        "ООО «Ромашка»",
    ]
    assert order.parties["seller"]["name"] == "ООО «Продавец»"
    assert (
        billing_profiles.change(company=buyer, user=user, changes={"legal_name": "ООО «Лютик»"})
        == []
    )


@pytest.mark.django_db(transaction=True)
def test_open_payment_freezes_the_invoice(issue: Callable[..., Order]) -> None:
    order = issue()
    user = MemberFactory.create().user
    changes = {"legal_name": "ООО «Лютик»"}
    rename = partial(billing_profiles.change, company=order.company, user=user, changes=changes)

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            Order.objects.select_for_update(no_key=True).get(pk=order.pk).mark_paid()
            changed = start_blocked(pool, rename)
        assert changed.result() == ["legal_name"]

    order.refresh_from_db()
    assert order.parties["buyer"]["name"] == "ООО «Ромашка»"


def test_invoice_opens_by_its_link_without_signing_in(issue: Callable[..., Order]) -> None:
    order = issue()
    client = Client()
    path = urlsplit(order.payment_url).path

    page = client.get(path)
    file = client.get(f"{path}/pdf")

    body = page.content.decode()
    assert (page.status_code, file.status_code) == (200, 200)
    assert "Счёт на оплату № 2026-17" in body
    assert "data:image/svg+xml" in body
    assert 'content="noindex"' in body
    assert file.headers["Content-Type"] == "application/pdf"
    assert file.content.startswith(b"%PDF")


@pytest.mark.parametrize(
    ("state", "expected_text"),
    [("paid", "оплачено"), ("canceled", "отменено"), ("expired", "срок истёк")],
)
@pytest.mark.parametrize("language", ["ru", "en"])
def test_invoice_that_has_ended_asks_for_no_money(
    issue: Callable[..., Order], language: str, state: str, expected_text: str
) -> None:
    order = issue(details_abroad="IBAN 1234")
    Order.objects.update(
        state=state, paid_at=AT if state == "paid" else None, finished_at=AT, language=language
    )
    order.refresh_from_db()

    body = Client().get(urlsplit(order.payment_url).path).content.decode()
    text = text_of(order)

    account = order.parties["seller"]["account"]
    for asked in (account, "IBAN 1234", "data:image/svg+xml", "Код для оплаты", "Оплатите до"):
        assert asked not in body
        assert asked not in text
    assert 'id="purpose"' not in body
    with translation.override(language):
        assert str(order.get_state_display()) in text
    assert language == "en" or expected_text in text


def test_link_cannot_be_guessed(issue: Callable[..., Order]) -> None:
    order = issue()
    client = Client()
    sandbox = place_order(order.company)
    right = INVOICES.token(order.pk)

    for token in (order.id.hex, f"{right}x", f"{order.id.hex}:", INVOICES.token(sandbox.pk)):
        assert client.get(reverse("invoice", args=[token])).status_code == 404
        assert client.get(reverse("invoice-file", args=[token])).status_code == 404


ROOT = Path(__file__).resolve().parents[3]


def test_characters_that_no_font_draws_are_spaces() -> None:
    sheet = pdf.new_sheet("Счёт", "ru", timezone.now())

    pdf.paragraph(sheet, "Роза\x00\x0b\u202e\ufffeЛютик\nМак\u00a05")

    (page,) = pypdf.PdfReader(BytesIO(sheet.output())).pages
    assert page.extract_text().split() == ["Роза", "Лютик", "Мак", "5"]


def test_no_document_is_drawn_on_another_one() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "billing").rglob("*.py")]

    assert not [text for text in texts if "FPDF(" in text]
    assert sum("new_sheet(" in text for text in texts) > 1
