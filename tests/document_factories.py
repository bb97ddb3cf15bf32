"""Factories of closed months and documents."""

# mypy: disable-error-code="no-untyped-call"

from datetime import date
from decimal import Decimal

from factory.declarations import Sequence, SubFactory
from factory.django import DjangoModelFactory

from billing.models import ClosedMonth, Document
from tests.factories import CompanyFactory


class ClosedMonthFactory(DjangoModelFactory[ClosedMonth]):
    """A month in which a hundred bought tokens were used up."""

    class Meta:
        model = ClosedMonth

    company = SubFactory(CompanyFactory)
    month = date(2026, 10, 1)
    opening = 0
    bought = 100
    granted = 0
    withdrawn = 0
    spent = 100
    closing = 0


class DocumentFactory(DjangoModelFactory[Document]):
    """Closes October for a company in Russia, with VAT."""

    class Meta:
        model = Document

    company = SubFactory(CompanyFactory)
    kind = "closing"
    year = 2026
    serial = Sequence(lambda n: 1000 + n)
    month = date(2026, 10, 1)
    issued_on = date(2026, 10, 31)
    tokens = 100
    amount = Decimal("122.00")
    vat = Decimal("22.00")
    currency = "RUB"
    language = "ru"
    lines = [
        {
            "order": "",
            "tokens": 100,
            "amount": "122.00",
            "vat_rate": "22.00",
            "vat": "22.00",
            "invoice": "2026-7",
            "invoice_day": "2026-10-02",
            "payment": "512",
            "payment_day": "2026-10-03",
        }
    ]
    parties = {
        "seller": {
            "name": "ООО «Продавец»",
            "inn": "7700000009",
            "kpp": "770001001",
            "address": "101000, Москва, Примерная улица, дом 1",
            "bank_name": "ПАО «Пример-банк», г. Москва",
            "bic": "044500000",
            "account": "40700000000000000001",
            "corr_account": "30100000000000000001",
            "head": "Петров П. П.",
            "edo_id": "2BM-7700000009-770001001-202601010000000000000",
        },
        "buyer": {
            "name": "ООО «Ромашка»",
            "country": "RU",
            "inn": "7800000002",
            "kpp": "780001001",
            "address": "190000, Санкт-Петербург, Примерный переулок, дом 2",
            "edo_id": "",
        },
    }
