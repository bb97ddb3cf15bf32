"""The currencies offered to a company: never one without a price, never a conversion."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone, translation

from accounts.models import Company, Member
from billing.models import BillingProfile, Order, Package
from billing.orders import prices
from billing.orders.prices import TokenPrice, last_paid_price
from billing.templatetags.money import worth
from tests.api.clients import ClientOf
from tests.factories import (
    CompanyFactory,
    MemberFactory,
    MessageFactory,
    OrderFactory,
    PackageFactory,
    TariffFactory,
    TransferFactory,
)
from tests.reauthentication import mark_reauthenticated

pytestmark = pytest.mark.django_db


def profile(country: str, own: str = "") -> BillingProfile:
    company: Company = CompanyFactory.create(country=country)
    return BillingProfile(company=company, currency=own)


def sell(*currencies: str) -> None:
    for currency in currencies:
        PackageFactory.create(code=currency.lower(), currency=currency)


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


def test_sold_currencies_include_tariffs_and_skip_inactive_packages() -> None:
    sell("RUB", "EUR")
    TariffFactory.create(currency="USD")
    Package.objects.filter(currency="EUR").update(is_active=False)

    assert prices.sold_currencies() == ["RUB", "USD"]


def test_tiers_of_currencies_are_apart() -> None:
    TariffFactory.create(currency="RUB", tokens_from=100, price=Decimal("2.0000"))
    TariffFactory.create(currency="USD", tokens_from=100, price=Decimal("0.0250"))
    TariffFactory.create(currency="USD", tokens_from=1000, price=Decimal("0.0200"))

    amounts = [prices.quote_tokens(1000, currency) for currency in ("RUB", "USD", "EUR")]

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


def pay(member: Member, days_ago: int, **order: object) -> None:
    at = timezone.now() - timedelta(days=days_ago)
    OrderFactory.create(company=member.company, state="paid", created_at=at, paid_at=at, **order)


def test_price_is_that_of_the_newest_paid_order(owner: Member) -> None:
    assert last_paid_price(owner.company_id) is None
    pay(owner, 5, tokens=1000, amount=Decimal("2000.00"))
    pay(owner, 9, tokens=1000, amount=Decimal("3000.00"))
    OrderFactory.create(company=owner.company, tokens=1, amount=Decimal("9.00"))  # not paid
    OrderFactory.create(company=CompanyFactory.create(), state="paid", paid_at=timezone.now())

    assert last_paid_price(owner.company_id) == TokenPrice(Decimal(2), "RUB")


def test_sums_are_rounded_once() -> None:
    third = TokenPrice(Decimal("1000.00") / 3000, "EUR")

    assert third.of(1) == Decimal("0.33")
    assert third.of(3) == Decimal("1.00")
    assert third.of(3_000_000) == Decimal("1000000.00")
    with translation.override("ru"):
        assert worth(16, TokenPrice(Decimal("1.9"), "RUB")) == "≈\u00a030,40\u00a0₽"
    assert worth(0, third) == worth(None, third) == worth(5, None) == ""


def test_message_says_its_cost_to_those_who_see_money(client: Client, owner: Member) -> None:
    pay(owner, 1, tokens=1000, amount=Decimal("1900.00"))
    message = MessageFactory.create(company=owner.company, state="delivered", channel="sms")
    TransferFactory.create(
        company=owner.company, kind="capture", amount=16, proof="receipt", message_id=message.id
    )
    page = reverse("message-detail", args=[message.public_id])

    assert "≈\u00a030,40\u00a0₽" in client.get(page).content.decode()

    Member.objects.filter(pk=owner.pk).update(role=Member.Role.DEVELOPER)
    assert "₽" not in client.get(page).content.decode()
