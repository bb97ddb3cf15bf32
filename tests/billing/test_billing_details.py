"""Invoices need the buyer's billing details: in the cabinet, in the API, by country."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from accounts.models import Company, Member
from billing import billing_details
from billing.billing_details import is_bin, is_inn
from billing.models import BillingProfile, Order
from billing.orders import invoices
from tests.api.clients import ClientOf
from tests.billing.top_ups import fill_billing_details, place_order
from tests.factories import MemberFactory, PackageFactory, SellerFactory, TariffFactory
from tests.reauthentication import mark_reauthenticated

pytestmark = pytest.mark.django_db
RUSSIAN = {"country": "RU", "legal_name": "ООО «Ромашка»", "inn": "7707083893", "kpp": "770701001"}
PAGE = "/cabinet/balance/requisites"


@pytest.fixture
def member(client: Client) -> Member:
    """An accountant of a company without billing details."""
    member: Member = MemberFactory.create(role=Member.Role.ACCOUNTANT)
    client.force_login(member.user)
    mark_reauthenticated(client, member.user)
    SellerFactory.create()
    PackageFactory.create()
    TariffFactory.create(tokens_from=100)
    return member


def save(client: Client, **fields: str) -> Any:
    return client.post(reverse("balance-profile"), RUSSIAN | {"package": "start"} | fields)


@pytest.mark.parametrize("chosen", [{"package": "start"}, {"package": "", "tokens": "1500"}])
def test_invoice_is_issued_once_its_billing_details_are_there(
    client: Client, member: Member, chosen: dict[str, str]
) -> None:
    asked = client.post(reverse("balance"), {"gateway": "invoice"} | chosen)

    assert Order.objects.count() == 0
    page = client.get(asked["Location"])
    carried = {field.name: field.value() or "" for field in page.context["afterwards"]}
    response = client.post(reverse("balance-profile"), RUSSIAN | carried)

    order = Order.objects.get()
    assert asked["Location"].startswith(f"{PAGE}?")
    assert response["Location"] == reverse("balance-order", args=[order.public_id])
    assert order.tokens == int(chosen.get("tokens", 1000))
    assert order.parties["buyer"]["inn"] == "7707083893"


@pytest.mark.parametrize(
    ("changes", "at_fault"),
    [
        ({"legal_name": ""}, ["legal_name"]),
        ({"inn": ""}, ["inn"]),
        ({"inn": "7707083894"}, ["inn"]),
        ({"kpp": ""}, ["kpp"]),
        ({"kpp": "77"}, ["kpp"]),
        ({"inn": "500100732259"}, ["kpp"]),
        ({"country": ""}, ["country"]),
        ({"country": "KZ", "inn": "123456789012"}, ["inn"]),
        ({"country": "DE", "legal_name": ""}, ["legal_name"]),
    ],
)
def test_missing_billing_details_are_named_and_no_invoice_is_issued(
    client: Client, member: Member, changes: dict[str, str], at_fault: list[str]
) -> None:
    response = save(client, **changes)

    assert list(response.context["form"].errors) == at_fault
    assert Order.objects.count() == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"inn": "500100732259", "kpp": ""},
        {"country": "KZ", "inn": "980540000397", "kpp": ""},
        {"country": "KZ", "inn": "", "kpp": ""},
        {"country": "DE", "inn": "DE136695976", "kpp": ""},
        {"country": "US", "inn": "", "kpp": "770701001"},
    ],
)
def test_each_country_asks_for_its_own(
    client: Client, member: Member, changes: dict[str, str]
) -> None:
    response = save(client, **changes)

    assert response.status_code == 302
    assert Order.objects.get().parties["buyer"]["inn"] == changes["inn"]
    assert BillingProfile.objects.get().kpp == ""


def test_partial_billing_details_are_saved_without_order(client: Client, member: Member) -> None:
    client.post(reverse("balance-profile"), {"country": "RU", "email": "docs@example.com"})

    assert BillingProfile.objects.get().email == "docs@example.com"
    assert Order.objects.count() == 0


def test_api_says_where_to_fill_the_billing_details_in(
    member: Member, client_of: ClientOf, settings: Any
) -> None:
    response = client_of(member.company).post("/top-up", {"tokens": 150, "gateway": "invoice"})

    assert (response.status, response.code) == (422, "invalid_input")
    assert f"{settings.PUBLIC_URL}{PAGE}" in response.body["message"]
    assert list(response.body["errors"]) == ["gateway"]
    assert Order.objects.count() == 0


def test_refused_invoice_is_issued_under_the_same_idempotency_key(
    member: Member, client_of: ClientOf
) -> None:
    api = client_of(member.company)
    wish = {"tokens": 150, "gateway": "invoice"}

    refused = api.post("/top-up", wish, idempotency_key="order-1")
    fill_billing_details(member.company)
    issued = api.post("/top-up", wish, idempotency_key="order-1")

    assert (refused.status, issued.status) == (422, 200)


def test_buyer_abroad_is_described_with_the_country(company: Company) -> None:
    fields = {"country": "KZ", "legal_name": "ТОО «Алма»", "inn": "980540000397"}
    BillingProfile.objects.create(company=company, **fields)
    SellerFactory.create()

    customer = invoices.document(place_order(company, "invoice")).customer

    assert customer == "ТОО «Алма», БИН или ИИН 980540000397, Казахстан"


def test_only_packages_in_the_currency_of_the_country_are_shown(
    client: Client, member: Member
) -> None:
    PackageFactory.create(code="kz", currency="KZT")
    packages = [client.get(reverse("balance")).context["form"].packages]
    Company.objects.filter(pk=member.company_id).update(country="KZ")
    packages.append(client.get(reverse("balance")).context["form"].packages)
    Company.objects.filter(pk=member.company_id).update(country="DE")
    packages.append(client.get(reverse("balance")).context["form"].packages)

    codes = [[package.code for package in offered] for offered in packages]
    assert codes == [["start"], ["kz"], ["start"]]


@pytest.mark.parametrize(
    ("text", "is_correct"),
    [
        ("980540000397", True),
        ("940740000911", True),
        ("980540000398", False),
        ("98054000039", False),
    ],
)
def test_bin_is_validated_by_its_control_digit(text: str, is_correct: bool) -> None:
    assert is_bin(text) is is_correct


def test_inn_of_a_person_has_twelve_digits() -> None:
    assert (is_inn("500100732259"), is_inn("500100732258")) == (True, False)


ARABIC = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")
WIDE = str.maketrans("0123456789", "０１２３４５６７８９")
COUNTRIES = sorted({"RU", "KZ", "BY", "US", "GE", "UZ", *billing_details.EU})


@pytest.mark.parametrize("country", COUNTRIES)
def test_zeros_and_foreign_digits_are_not_a_tax_number(country: str) -> None:
    prefix = billing_details.VAT_PREFIXES.get(country, country)
    zeros = [
        f"{before}{'0' * n}" for n in range(1, 21) for before in ("", prefix, "U", f"{prefix}U")
    ]
    real = "7800000002" if country == "RU" else "136695976"
    numbers = [*zeros, real.translate(ARABIC), real.translate(WIDE), f"{real[:-1]}²", "٠" * 10]

    for number in numbers:
        errors = billing_details.format_errors(country=country, inn=number, kpp="")
        assert set(errors) == {"inn"}, number
        assert billing_details.vat_id(country, number) == ""


@pytest.mark.parametrize(
    ("validator", "right"),
    [
        (billing_details.KPP, "780001001"),
        (billing_details.BIC, "044525225"),
        (billing_details.ACCOUNT, "40702810110011000430"),
        (billing_details.validate_inn, "7800000002"),
    ],
)
def test_billing_details_are_ascii_digits(validator: Any, right: str) -> None:
    validator(right)
    wrong = (
        "0" * len(right),
        right.translate(ARABIC),
        f"{right[:-1]}{right[-1].translate(WIDE)}",
        f"{right}\n",
    )

    for text in wrong:
        with pytest.raises(ValidationError):
            validator(text)


@pytest.mark.parametrize(("number", "is_correct"), [("200988541", True), ("200988542", False)])
def test_unp_is_validated_by_its_control_digit(number: str, is_correct: bool) -> None:
    assert (billing_details.format_errors(country="BY", inn=number, kpp="") == {}) is is_correct


@pytest.mark.parametrize(
    ("country", "number"),
    [
        ("RU", "0012345673"),  # no region
        ("KZ", "000000000010"),  # no month
        ("KZ", "991340000017"),
        ("KZ", "980590000398"),  # no kind of organisation, nor a day
        ("BY", "UNP200988541"),
        ("BY", "УНП200988541"),
    ],
)
def test_number_needs_more_than_control_digit(country: str, number: str) -> None:
    assert set(billing_details.format_errors(country=country, inn=number, kpp="")) == {"inn"}


@pytest.mark.parametrize("kpp", ["000001001", "770700001", "770701000"])
def test_no_part_of_a_kpp_is_zero(kpp: str) -> None:
    with pytest.raises(ValidationError):
        billing_details.KPP(kpp)


def test_iin_of_a_person_begins_with_a_date() -> None:
    assert is_bin("980531300129")
