"""The settings of payments: only for members who may see them, once they confirmed who they are."""

from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Company, Member
from accounts.people.companies import settings_version
from billing.models import AutoTopUp, BillingProfile
from billing.web.urls import urlpatterns
from cabinet.settings_forms import CompanySection
from tests.billing.orders.automatic import agree
from tests.billing.top_ups import fill_billing_details
from tests.cabinet.routes import CABINET, MONEY
from tests.factories import MemberFactory, SellerFactory, TariffFactory
from tests.reauthentication import mark_reauthenticated

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("wire")]
TERMS = {
    "threshold": "100",
    "package": "",
    "tokens": "1000",
    "gateway": "sandbox",
    "max_orders_per_day": "1",
    "max_amount_per_month": "10000",
    "consent": "on",
}
BILLING_DETAILS = {"country": "RU", "legal_name": "ООО «Ромашка»", "inn": "7800000002"}
# Pages of billing that change nothing of it: why.
HARMLESS = {
    "balance": "an order is paid by a person, who sees its sum",
    "balance-automatic-pay": "the same",
    "balance-automatic-off": "less is taken",
    "balance-method-remove": "less is taken",
    "balance-order-cancel": "less is taken",
    "balance-alert": "e-mails only",
    "balance-alert-add": "e-mails only",
    "balance-alert-remove": "e-mails only",
    "document-send": "e-mails only",
    "statement-check": "reads",
}
CHANGES: dict[str, list[dict[str, str]]] = {
    "balance-automatic": [TERMS, TERMS | {"gateway": "invoice"}],
    "balance-automatic-resume": [{}],
    "balance-profile": [
        BILLING_DETAILS,
        BILLING_DETAILS | {"country": "US", "inn": ""},
        BILLING_DETAILS | {"currency": "USD", "kpp": "780001001"},
        BILLING_DETAILS | {"kpp": "780001001", "address": "Москва"},
    ],
}
CASES = [(name, data) for name, several in CHANGES.items() for data in several]


@pytest.fixture
def paused(package: object) -> Company:
    """A company whose agreed automatic top-ups are paused."""
    company: Company = MemberFactory.create().company
    fill_billing_details(company)
    SellerFactory.create()
    for currency in ("RUB", "USD"):
        TariffFactory.create(tokens_from=1, price=Decimal(2), currency=currency)
    agree(company)
    AutoTopUp.objects.update(paused_at=timezone.now(), paused_for="declined")
    return company


def stored_rows(company: Company) -> list[Any]:
    rows = (Company, BillingProfile, AutoTopUp)
    return [list(kind.objects.order_by("pk").values()) for kind in rows]


def test_every_page_of_billing_that_changes_something_is_known() -> None:
    names = {str(urlpattern.name) for urlpattern in urlpatterns}

    changing = {name for name in names if CABINET[name].change & MONEY}

    assert changing - {"budget-edit"} == CHANGES.keys() | HARMLESS.keys()


@pytest.mark.parametrize(("name", "data"), CASES)
@pytest.mark.parametrize("role", sorted(MONEY))
def test_terms_of_money_are_confirmed(
    client: Client, paused: Company, name: str, data: dict[str, str], role: str
) -> None:
    member = MemberFactory.create(company=paused, role=role)
    client.force_login(member.user)
    before = stored_rows(paused)

    # Neither what a form was filled in with nor what its address says counts as stored.
    for url in (reverse(name), f"{reverse(name)}?country=US&currency=USD&inn="):
        response = client.post(url, data)
        assert "reauthenticate" in response.headers["Location"]
    assert stored_rows(paused) == before

    mark_reauthenticated(client, member.user)
    client.post(reverse(name), data)
    assert stored_rows(paused) != before


def test_typed_billing_details_survive_the_confirmation(client: Client, paused: Company) -> None:
    member = paused.members.get()
    client.force_login(member.user)
    typed = BILLING_DETAILS | {"legal_name": "ООО «Лютик»", "kpp": "780001001", "tokens": "500"}

    response = client.post(reverse("balance-profile"), typed)
    mark_reauthenticated(client, member.user)
    then = response.headers["Location"].partition("next=")[2]
    page = client.get(then.replace("%3F", "?").replace("%3D", "=").replace("%2F", "/"))

    assert page.context["form"]["legal_name"].value() == "ООО «Лютик»"
    assert page.context["quote"].tokens == 500


def test_same_billing_details_need_no_confirmation(client: Client, paused: Company) -> None:
    client.force_login(paused.members.get().user)
    BillingProfile.objects.update(country="RU")
    profile = BillingProfile.objects.get()
    same = {"country": "RU", "legal_name": profile.legal_name, "inn": profile.inn}

    response = client.post(reverse("balance-profile"), same | {"kpp": profile.kpp})

    assert response.headers["Location"] == reverse("balance-profile")


def settings_of(company: Company) -> dict[str, str]:
    version = settings_version(company, CompanySection.stored)
    fields = {name: getattr(company, name) for name in CompanySection.stored}
    return fields | {"section": "company", "version": version}


@pytest.mark.parametrize(
    ("role", "is_fresh", "country"),
    [("owner", False, "RU"), ("owner", True, "US"), ("developer", True, "RU")],
)
def test_country_is_changed_by_an_owner_once_confirmed(
    client: Client, paused: Company, role: str, is_fresh: bool, country: str
) -> None:
    member = MemberFactory.create(company=paused, role=role)
    client.force_login(member.user)
    if is_fresh:
        mark_reauthenticated(client, member.user)

    client.post(reverse("settings"), settings_of(paused) | {"country": "US"})

    assert Company.objects.get(pk=paused.pk).country == country


def test_developer_still_changes_the_rest(client: Client, paused: Company) -> None:
    member = MemberFactory.create(company=paused, role=Member.Role.DEVELOPER)
    client.force_login(member.user)

    page = client.get(reverse("settings")).content.decode()
    response = client.post(reverse("settings"), settings_of(paused) | {"brand": "Daisy"})

    assert response.status_code == 302
    assert Company.objects.get(pk=paused.pk).brand == "Daisy"
    assert "Меняет владелец" in page
