"""Which currency a company is offered: never one without a price, never converted."""

from decimal import Decimal

import pytest
from django.test import Client

from accounts.models import Company
from billing.models import BillingProfile, Order, Package
from billing.orders import prices
from tests.api.clients import ClientOf
from tests.factories import CompanyFactory, MemberFactory, PackageFactory, TariffFactory
from tests.reauthentication import mark_reauthenticated

pytestmark = pytest.mark.django_db


def profile(country: str, own: str = "") -> BillingProfile:
    company: Company = CompanyFactory.create(country=country)
    return BillingProfile(company=company, currency=own)


def sell(*currencies: str) -> None:
    for one in currencies:
        PackageFactory.create(code=one.lower(), currency=one)


@pytest.mark.parametrize(
    ("sold", "country", "own", "offered"),
    [
        (("RUB",), "RU", "", "RUB"),
        (("RUB", "KZT"), "KZ", "", "KZT"),
        (("RUB",), "KZ", "", "RUB"),
        (("RUB", "EUR"), "DE", "", "EUR"),
        (("RUB", "EUR"), "US", "", "RUB"),
        (("EUR", "USD"), "KZ", "", "EUR"),
        (("RUB", "USD"), "RU", "USD", "USD"),
        (("RUB",), "RU", "USD", "RUB"),  # no price in it any more
        ((), "KZ", "", "RUB"),
    ],
)
def test_offered_currency_has_prices(
    sold: tuple[str, ...], country: str, own: str, offered: str
) -> None:
    sell(*sold)

    assert prices.currency_of(profile(country, own)) == offered


def test_currency_of_single_tokens_counts_and_what_is_off_sale_does_not() -> None:
    sell("RUB", "EUR")
    TariffFactory.create(currency="USD")
    Package.objects.filter(currency="EUR").update(is_active=False)

    assert prices.sold_currencies() == ["RUB", "USD"]


def test_tiers_of_currencies_are_apart() -> None:
    TariffFactory.create(currency="RUB", tokens_from=100, price=Decimal("2.0000"))
    TariffFactory.create(currency="USD", tokens_from=100, price=Decimal("0.0250"))
    TariffFactory.create(currency="USD", tokens_from=1000, price=Decimal("0.0200"))

    amounts = [prices.quote_tokens(1000, one) for one in ("RUB", "USD", "EUR")]

    assert [quote and (quote.amount, quote.currency) for quote in amounts] == [
        (Decimal("2000.00"), "RUB"),
        (Decimal("20.00"), "USD"),
        None,
    ]


def test_owner_chooses_the_currency_and_buys_in_it(client: Client) -> None:
    TariffFactory.create(currency="RUB", tokens_from=1)
    TariffFactory.create(currency="USD", tokens_from=1, price=Decimal("0.0250"))
    owner = MemberFactory.create()
    client.force_login(owner.user)
    mark_reauthenticated(client, owner.user)
    fields = {"country": "RU", "legal_name": "", "inn": "", "kpp": "", "address": "", "email": ""}

    refused = client.post("/cabinet/balance/requisites", fields | {"currency": "EUR"})
    assert "currency" in refused.context["form"].errors
    client.post("/cabinet/balance/requisites", fields | {"currency": "USD"})

    assert "5,00\u00a0$" in client.get("/cabinet/balance/quote", {"tokens": "200"}).content.decode()
    bought = {"package": "", "tokens": "200", "gateway": "sandbox"}
    assert client.post("/cabinet/balance", bought).status_code == 302
    order = Order.objects.get()
    assert (order.amount, order.currency) == (Decimal("5.00"), "USD")


def test_api_sells_tokens_in_the_company_s_currency(client_of: ClientOf) -> None:
    TariffFactory.create(currency="RUB", tokens_from=1)
    TariffFactory.create(currency="KZT", tokens_from=10, price=Decimal("10.0000"))
    api = client_of(CompanyFactory.create(country="KZ"))

    options = api.get("/top-up/options").body
    bought = api.post("/top-up", {"tokens": 100, "gateway": "sandbox"}).body

    assert (options["currency"], options["min_tokens"]) == ("KZT", 10)
    assert (bought["amount"], bought["currency"]) == ("1000.00", "KZT")
