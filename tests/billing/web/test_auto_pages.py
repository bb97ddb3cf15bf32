"""The pages of automatic top-ups and the saved card."""

from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from pytest_django.asserts import assertRedirects

from accounts.models import Mail, Member
from accounts.people import planned_deletion
from billing.models import AutoTopUp, MethodSaving, Order, Package, SavedMethod
from billing.wallet import ledger
from tests.factories import MemberFactory, PackageFactory
from tests.reauthentication import mark_reauthenticated

pytestmark = pytest.mark.django_db
URL = "/cabinet/balance/automatic"


@pytest.fixture
def owner(client: Client) -> Member:
    member: Member = MemberFactory.create()
    ledger.grant(company=member.company, amount=50, reason="test")
    client.force_login(member.user)
    mark_reauthenticated(client, member.user)
    return member


@pytest.fixture(autouse=True)
def package(db: None) -> Package:
    package: Package = PackageFactory.create(
        code="thousand", tokens=1000, price=Decimal("1900.00"), currency="RUB"
    )
    return package


def post(client: Client, **changes: str) -> Any:
    fields = {
        "threshold": "1 00",
        "package": "thousand",
        "tokens": "",
        "gateway": "sandbox",
        "max_orders_per_day": "2",
        "max_amount_per_month": "10 000",
        "consent": "on",
    }
    return client.post(URL, fields | changes)


def save(member: Member) -> SavedMethod:
    return SavedMethod.objects.create(
        company=member.company, gateway="sandbox", method_id="m-1", brand="Visa", last4="4242"
    )


def test_consent_leads_to_the_payment_that_saves_the_card(client: Client, owner: Member) -> None:
    response = post(client)

    order = Order.objects.get()
    assert response.url == f"/cabinet/balance/top-ups/{order.public_id}"
    assert MethodSaving.objects.get().order == order
    setting = AutoTopUp.objects.get()
    assert (setting.is_enabled, setting.threshold, setting.consented_by) == (True, 100, owner.user)
    assert "Ждёт первой оплаты" in client.get(URL).content.decode()
    event = owner.company.audit.get(action="auto_top_up.on")
    assert "thousand" in event.subject


def test_with_a_saved_card_nothing_is_paid_at_once(client: Client, owner: Member) -> None:
    save(owner)

    assert post(client).url == URL

    assert Order.objects.count() == 0
    body = client.get(URL).content.decode()
    assert "Visa •••• 4242" in body
    assert "m-1" not in body


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"consent": ""}, "consent"),
        ({"threshold": "0"}, "threshold"),
        ({"threshold": ""}, "threshold"),
        ({"max_orders_per_day": "11"}, "max_orders_per_day"),
        ({"max_amount_per_month": "1899,99"}, "max_amount_per_month"),
        ({"max_amount_per_month": "-1"}, "max_amount_per_month"),
        ({"gateway": "stripe"}, "gateway"),
        ({"package": "nothing"}, "package"),
        ({"package": "", "tokens": ""}, "tokens"),
    ],
)
def test_wrong_terms_are_refused(
    client: Client, owner: Member, changes: dict[str, str], field: str
) -> None:
    page = post(client, **changes)

    assert page.status_code == 200
    assert field in page.context["form"].errors
    assert AutoTopUp.objects.count() == Order.objects.count() == 0


def test_removed_card_switches_off_auto_top_up(client: Client, owner: Member) -> None:
    save(owner)
    post(client)

    client.post(f"{URL}/method")

    assert SavedMethod.objects.count() == 0
    assert not AutoTopUp.objects.get().is_enabled


def test_first_payment_is_offered_again(client: Client, owner: Member) -> None:
    post(client)

    response = client.post(f"{URL}/pay")

    assert Order.objects.count() == 2
    page = f"/cabinet/balance/top-ups/{Order.objects.latest('pk').public_id}"
    assertRedirects(response, page, fetch_redirect_response=False)
    save(owner)
    again = client.post(f"{URL}/pay")  # nothing left to pay for
    assertRedirects(again, URL, fetch_redirect_response=False)
    assert Order.objects.count() == 2


def test_other_companies_stay_as_they_are(client: Client, owner: Member) -> None:
    stranger = MemberFactory.create()
    save(stranger)

    for page in ("off", "resume", "method", "pay"):
        assertRedirects(client.post(f"{URL}/{page}"), URL, fetch_redirect_response=False)

    assert SavedMethod.objects.get().company == stranger.company
    assert "4242" not in client.get(URL).content.decode()


def test_closing_company_sees_that_purchases_are_off(client: Client, owner: Member) -> None:
    save(owner)
    post(client)
    planned_deletion.request(company=owner.company, user=owner.user)

    pages = [client.get(URL), client.get("/cabinet/settings/delete")]
    texts = [*(page.content.decode() for page in pages), Mail.objects.latest("pk").text]

    shown = [" ".join(text.split()) for text in texts]
    assert "ничего не покупается, если владелец её не сохранит" in shown[0]
    assert [text for text in shown if "кроме автопополнения" not in text] == []
