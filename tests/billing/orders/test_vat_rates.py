"""VAT by the seller's regime, the day and the buyer's country; VAT IDs; language of documents."""

from datetime import UTC, date, datetime
from decimal import Decimal
from io import BytesIO
from typing import Any

import pypdf
import pytest
import time_machine
from django.test import Client
from django.urls import reverse

from accounts.models import Company, Member
from billing.billing_details import vat_id
from billing.documents import document_pdf, issuing, month_closing
from billing.models import BillingProfile, Document, Order, VatRegime
from billing.orders import billing_profiles, invoice_pdf, invoices, vat_rates
from tests.billing.documents.history import OCTOBER, at, buy, make_company, seal, seller, use
from tests.billing.top_ups import payment_event, place_order, post_webhook
from tests.factories import MemberFactory, SellerFactory
from tests.reauthentication import mark_reauthenticated

pytestmark = pytest.mark.django_db
Regime = VatRegime.Regime
GERMAN = {"country": "DE", "legal_name": "Beispiel GmbH", "inn": "DE136695976", "kpp": ""}


def buyer(**fields: str) -> Company:
    row = make_company()
    BillingProfile.objects.filter(company=row).update(**fields)
    return Company.objects.get(pk=row.pk)


def words(content: bytes) -> str:
    text = " ".join(page.extract_text() for page in pypdf.PdfReader(BytesIO(content)).pages)
    return " ".join(text.replace("\xa0", " ").split())


@pytest.mark.parametrize(
    ("country", "number", "canonical"),
    [
        ("DE", "DE136695976", "DE136695976"),
        ("DE", " de 136.695-976", "DE136695976"),
        ("DE", "136695976", "DE136695976"),
        ("GR", "EL094259216", "EL094259216"),
        ("GR", "GR 094259216", "EL094259216"),
        ("GR", "094259216", "EL094259216"),
        ("FR", "FR40303265045", "FR40303265045"),
        ("DE", "DE136695977", ""),  # its control digit
        ("DE", "FR40303265045", ""),
        ("DE", "7800000002", ""),
        ("DE", "DE", ""),
        ("DE", "", ""),
        ("DE", "１３６６９５９７６\x00", ""),
        ("GB", "XI980780684", ""),
        ("RU", "7800000002", ""),
    ],
)
def test_vat_id_is_made_canonical_or_refused(country: str, number: str, canonical: str) -> None:
    assert vat_id(country, number) == canonical


@pytest.mark.parametrize(
    ("regimes", "day", "expected"),
    [
        ([], date(2026, 3, 1), "20.00"),  # the seller's own
        ([(date(2019, 1, 1), Regime.GENERAL)], date(2025, 12, 31), "20.00"),
        ([(date(2019, 1, 1), Regime.GENERAL)], date(2026, 1, 1), "22.00"),
        ([(date(2026, 1, 1), Regime.SIMPLIFIED_5)], date(2026, 1, 1), "5.00"),
        ([(date(2026, 1, 1), Regime.SIMPLIFIED_5)], date(2025, 12, 31), "20.00"),
        (
            [(date(2025, 1, 1), Regime.EXEMPT), (date(2026, 4, 1), Regime.SIMPLIFIED_7)],
            date(2026, 3, 31),
            None,
        ),
        (
            [(date(2025, 1, 1), Regime.EXEMPT), (date(2026, 4, 1), Regime.SIMPLIFIED_7)],
            date(2026, 4, 1),
            "7.00",
        ),
    ],
)
def test_vat_rate_follows_the_regime_of_the_day(
    regimes: list[tuple[date, str]], day: date, expected: str | None
) -> None:
    row = SellerFactory.create(vat_rate=Decimal("20.00"))
    for since, regime in regimes:
        VatRegime.objects.create(since=since, regime=regime)

    rate = invoices.rate_of(row, BillingProfile.for_company(make_company()), day)

    assert rate == (Decimal(expected) if expected else None)


@pytest.mark.parametrize(
    ("country", "inn", "everywhere", "rate", "noted"),
    [
        ("RU", "7800000002", False, "22.00", False),
        ("DE", "DE136695976", False, None, True),
        ("DE", "", False, None, False),
        ("KZ", "940140000385", False, None, False),
        ("US", "12-3456789", False, None, False),
        ("DE", "DE136695976", True, "22.00", False),
    ],
)
def test_invoice_vat_follows_the_buyers_country(
    country: str, inn: str, everywhere: Any, rate: str | None, noted: Any
) -> None:
    SellerFactory.create(charges_vat_abroad=everywhere)
    company = buyer(country=country, inn=inn, kpp="", documents_language="en", legal_name="Example")
    BillingProfile.objects.filter(company=company, country="RU").update(kpp="780001001")

    order = place_order(company, "invoice")

    assert order.vat_rate == (Decimal(rate) if rate else None)
    text = words(invoice_pdf.draw(invoices.document(order)))
    assert ("Reverse charge" in text) is noted
    assert ("VAT ID of the recipient: DE136695976" in text) is noted
    assert ("VAT not applicable" in text) is (rate is None)
    assert "Invoice No." in text


@pytest.mark.parametrize(("country", "is_abroad"), [("RU", False), ("DE", True)])
def test_english_invoice_of_a_payer_in_russia_has_the_bank_form(
    country: str, is_abroad: Any
) -> None:
    SellerFactory.create(details_abroad="Seller Ltd, IBAN XX00")
    company = buyer(country=country, documents_language="en")

    document = invoices.document(place_order(company, "invoice"))

    assert document.is_abroad is is_abroad
    assert ("IBAN XX00" in words(invoice_pdf.draw(document))) is is_abroad


def test_open_invoice_follows_the_billing_details(client: Client) -> None:
    SellerFactory.create()
    company = make_company()
    user = MemberFactory.create(company=company, role=Member.Role.OWNER).user
    order = place_order(company, "invoice")
    assert (order.vat_rate, order.language) == (Decimal("22.00"), "ru")

    billing_profiles.change(
        company=company, user=user, changes=GERMAN | {"documents_language": "en"}
    )

    order.refresh_from_db()
    assert (order.vat_rate, order.language) == (None, "en")
    assert order.parties["buyer"]["vat_id"] == "DE136695976"


def closed_october(one: Company, **fields: Any) -> Document:
    """The document that closes October, in which half of a hundred tokens for 122 roubles were
    used.
    """
    seller(**fields)
    buy(one, at(10, 3), 100, "122.00", vat_rate=Decimal("22.00"))
    use(one, at(10, 20), 50)
    seal(one)
    month_closing.close()
    issuing.issue()
    return Document.objects.get(company=one, month=OCTOBER)


def test_delivery_has_its_month_s_rate_and_advance_its_payment_s() -> None:
    VatRegime.objects.create(since=date(2025, 1, 1), regime=Regime.SIMPLIFIED_5)
    VatRegime.objects.create(since=date(2026, 10, 10), regime=Regime.SIMPLIFIED_7)

    document = closed_october(buyer(), vat_rate=None)

    assert (document.amount, document.vat) == (Decimal("61.00"), Decimal("3.99"))
    advance = Document.objects.get(kind="advance")
    assert (advance.amount, advance.vat) == (Decimal("122.00"), Decimal("5.81"))


def test_exempt_seller_issues_no_advance() -> None:
    VatRegime.objects.create(since=date(2025, 1, 1), regime=Regime.EXEMPT)

    document = closed_october(buyer())

    assert document.vat is None
    assert not Document.objects.filter(kind="advance").exists()


def test_act_for_eu_buyer_has_reverse_charge_in_chosen_language() -> None:
    document = closed_october(buyer(**GERMAN, documents_language="en"))

    text = words(document_pdf.draw(document))

    assert (document.vat, document.language) == (None, "en")
    assert "Article 196 of Council Directive 2006/112/EC" in text
    assert "VAT ID of the recipient: DE136695976" in text
    assert "61" in text


def test_forms_of_russia_stay_russian() -> None:
    document = closed_october(buyer(documents_language="en"))

    assert document.language == "ru"
    assert "Счет-фактура" in words(document_pdf.draw(document)).replace("ё", "е")


def test_many_buyers_without_invoice_block_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(issuing, "BATCH_SIZE", 2)
    seller()
    for _number in range(2):
        buy(buyer(country="DE"), at(10, 3), 100, "122.00")
    order = buy(buyer(), at(10, 4), 100, "122.00")

    issuing.issue()

    assert Document.objects.get(kind="advance").order == order


@pytest.fixture
def accountant(client: Client) -> Member:
    SellerFactory.create()
    member: Member = MemberFactory.create(role=Member.Role.ACCOUNTANT)
    client.force_login(member.user)
    mark_reauthenticated(client, member.user)
    return member


def test_vat_id_in_billing_details_is_checked(client: Client, accountant: Member) -> None:
    page = reverse("balance-profile")

    wrong = client.post(page, GERMAN | {"inn": "DE136695977"})
    right = client.post(page, GERMAN | {"inn": "136 695 976", "documents_language": "en"})

    assert list(wrong.context["form"].errors) == ["inn"]
    assert right.status_code == 302
    profile = BillingProfile.objects.get(company=accountant.company)
    assert (profile.inn, profile.documents_language) == ("DE136695976", "en")
    assert "Номер VAT" in client.get(page).content.decode()
    assert client.post(page, GERMAN | {"documents_language": "xx"}).status_code == 200


@time_machine.travel(datetime(2025, 12, 31, 20, 59, tzinfo=UTC), tick=False)
def test_new_year_comes_in_the_services_time_zone() -> None:
    VatRegime.objects.create(since=date(2019, 1, 1), regime=Regime.GENERAL)
    SellerFactory.create()

    before = place_order(make_company(), "invoice")
    with time_machine.travel(datetime(2025, 12, 31, 21, 1, tzinfo=UTC), tick=False):
        after = place_order(make_company(), "invoice")

    assert (before.vat_rate, after.vat_rate) == (Decimal("20.00"), Decimal("22.00"))


def test_regimes_choose_orders_by_the_day_of_payment() -> None:
    VatRegime.objects.create(since=date(2026, 10, 5), regime=Regime.SIMPLIFIED_5)
    VatRegime.objects.create(since=date(2026, 10, 10), regime=Regime.EXEMPT)
    company = buyer()
    orders = [buy(company, at(10, day), 1, "2.00", vat_rate=None) for day in (4, 5, 9, 10)]
    own = buy(company, at(10, 1), 1, "2.00")

    chosen = set(Order.objects.filter(vat_rates.is_paid_with_vat()))

    assert chosen == {*orders[1:3], own}


@pytest.mark.parametrize(("country", "count"), [("DE", 0), ("RU", 1)])
def test_buyer_moved_to_russia_gets_no_invoices_for_foreign_advances(
    country: str, count: int
) -> None:
    """While the operator's regime may be entered after the payments of its days."""
    seller(vat_rate=None)
    company = buyer(country=country)
    order = place_order(company)
    assert order.vat_rate is None
    assert post_webhook(payment_event(order)) == 200

    BillingProfile.objects.filter(company=company).update(country="RU")
    VatRegime.objects.create(since=date(2025, 1, 1), regime=Regime.GENERAL)

    assert issuing.issue() == count
