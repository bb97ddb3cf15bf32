"""Documents are issued once, numbered without gaps, and wait for billing details."""

import re
from datetime import date
from decimal import Decimal

import pytest

from accounts.models import Mail, Member
from billing.documents import issuing, month_closing
from billing.models import BillingProfile, ClosedMonth, Document, Seller
from billing.orders import billing_profiles
from tests.api.races import at_once
from tests.billing.documents.history import (
    OCTOBER,
    SEPTEMBER,
    at,
    buy,
    make_company,
    seal,
    seller,
    use,
)
from tests.billing.seals.books import book
from tests.factories import CompanyFactory, MemberFactory

pytestmark = pytest.mark.django_db
CLOSING = Document.Kind.CLOSING
ADVANCE = Document.Kind.ADVANCE


def numbers() -> list[tuple[int, int]]:
    return sorted(Document.objects.values_list("year", "serial"))


def test_month_gets_an_act_and_an_advance_invoice() -> None:
    seller()
    company = make_company()
    order = buy(company, at(9, 3), 100, "122.00")
    use(company, at(9, 20), 50)
    seal(company)
    month_closing.close()

    assert issuing.issue() == 2

    act = Document.objects.get(kind=CLOSING)
    assert (act.month, act.issued_on, act.tokens) == (SEPTEMBER, date(2026, 9, 30), 50)
    assert (act.amount, act.vat, act.currency) == (Decimal("61.00"), Decimal("11.00"), "RUB")
    assert act.buyer["name"] == "ООО «Ромашка»"
    assert act.lines[0]["payment"] == order.payments.get().reference
    advance = Document.objects.get(kind=ADVANCE)
    assert (advance.order, advance.issued_on) == (order, date(2026, 9, 3))
    assert (advance.amount, advance.vat) == (Decimal("122.00"), Decimal("22.00"))
    assert numbers() == [(2026, 1), (2026, 2)]


def test_month_documents_wait_for_billing_details() -> None:
    seller(vat_rate=None)
    company = CompanyFactory.create()
    owner = MemberFactory.create(company=company, role=Member.Role.OWNER).user
    buy(company, at(9, 3), 100, "122.00", vat_rate=None)
    use(company, at(9, 20), 50)
    seal(company)
    month_closing.close()
    assert issuing.issue() == 0

    billing_profiles.change(
        company=company,
        user=owner,
        changes={"legal_name": "ООО «Ромашка»", "inn": "7800000002", "kpp": "780001001"},
    )

    assert issuing.issue() == 1
    document = Document.objects.get()
    assert (document.vat, document.issued_on) == (None, date(2026, 9, 30))


def test_granted_tokens_are_not_charged() -> None:
    seller()
    company = make_company()
    book(company, at(9, 3), "grant", 100)
    use(company, at(9, 20), 50)
    seal(company)
    month_closing.close()

    assert issuing.issue() == 0
    assert not ClosedMonth.objects.filter(is_due=True).exists()


def test_each_currency_has_a_document() -> None:
    seller(vat_rate=None)
    company = make_company()
    buy(company, at(9, 3), 10, "20.00", vat_rate=None)
    buy(company, at(9, 4), 10, "1.00", vat_rate=None, currency="EUR")
    use(company, at(9, 20), 15)
    seal(company)
    month_closing.close()

    issuing.issue()

    assert list(Document.objects.order_by("serial").values_list("currency", "amount")) == [
        ("EUR", Decimal("0.50")),
        ("RUB", Decimal("20.00")),
    ]


def test_later_billing_details_change_no_issued_document() -> None:
    seller()
    company = make_company()
    buy(company, at(9, 3), 100, "122.00")
    use(company, at(9, 20), 50)
    seal(company)
    month_closing.close()
    issuing.issue()

    BillingProfile.objects.update(legal_name="ООО «Лютик»")
    Seller.objects.update(name="ООО «Другое»")
    issuing.issue()

    document = Document.objects.get(kind=CLOSING)
    assert (document.buyer["name"], document.seller["name"]) == ("ООО «Ромашка»", "ООО «Продавец»")


def test_emails_go_to_billing_members_and_document_address() -> None:
    seller(vat_rate=None)
    company = make_company()
    BillingProfile.objects.filter(company=company).update(email="books@example.com")
    people = {
        role: MemberFactory.create(company=company, role=role).user.email
        for role in Member.Role.values
    }
    buy(company, at(9, 3), 100, "122.00", vat_rate=None)
    use(company, at(9, 20), 50)
    seal(company)
    month_closing.close()

    issuing.issue()

    expected = {people["owner"], people["accountant"], "books@example.com"}
    assert set(Mail.objects.values_list("to", flat=True)) == expected
    email = Mail.objects.get(to="books@example.com")
    document = Document.objects.get()
    for kind in ("pdf", "xml"):
        address, signed_at, _ = issuing.url_of(document, kind).rsplit(":", 2)
        (sent,) = re.findall(rf"{re.escape(address)}:\S+\.{kind}", email.text)
        assert len(sent) > len(f"{address}:{signed_at}:.{kind}")
    assert "по итогам сентября 2026" in email.text


@pytest.mark.django_db(transaction=True)
def test_eight_at_once_issue_each_document_once_without_a_gap() -> None:
    seller()
    companies = [make_company() for _number in range(4)]
    for company in companies:
        buy(company, at(9, 3), 100, "122.00")
        use(company, at(9, 20), 50)
        use(company, at(10, 20), 10)
    seal(*companies)
    month_closing.close()

    at_once([issuing.issue] * 8)

    assert numbers() == [(2026, n) for n in range(1, 13)]
    assert Document.objects.filter(kind=CLOSING, month=OCTOBER).count() == 4


def test_order_paid_before_documents_began_has_none() -> None:
    seller()
    company = make_company()
    buy(company, at(8, 31), 100, "122.00")
    seal(company)

    assert issuing.issue() == 0


def test_advance_is_of_the_money_that_was_paid() -> None:
    seller()
    order = buy(make_company(), at(9, 3), 100, "1900.00")
    order.payments.update(amount=Decimal("20.00"), currency="USD")  # credited all the same

    issuing.issue()

    advance = Document.objects.get(kind=ADVANCE)
    assert (advance.amount, advance.currency) == (Decimal("20.00"), "USD")
