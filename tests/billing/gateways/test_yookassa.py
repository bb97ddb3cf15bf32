"""YooKassa: what is sent, receipts, whose webhooks are read, and that none is believed."""

import json
from decimal import Decimal

import pytest
import responses
from pytest_django import Settings

from accounts.models import Company
from billing.gateways import registry, yookassa
from billing.gateways.base import GatewayError
from billing.models import BillingProfile, Payment
from billing.wallet import ledger
from tests.billing.gateways.vendors import YooKassaVendor
from tests.factories import CompanyFactory, MemberFactory, SellerFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("wire")]


@pytest.fixture
def vendor() -> YooKassaVendor:
    yoo_kassa_vendor = YooKassaVendor()
    yoo_kassa_vendor.opens("2c85d5a1")
    return yoo_kassa_vendor


@pytest.fixture
def payer(db: None) -> Company:
    company: Company = CompanyFactory.create()
    MemberFactory.create(company=company, user__email="owner@example.com")
    return company


def sent() -> dict[str, object]:
    body: dict[str, object] = json.loads(responses.calls[0].request.body or b"")
    return body


def test_payment_is_requested(vendor: YooKassaVendor, payer: Company) -> None:
    order = vendor.place(payer)

    body = sent()
    headers = responses.calls[0].request.headers
    assert body["amount"] == {"value": "1900.00", "currency": "RUB"}
    assert (body["capture"], body["metadata"]) == (True, {"order": order.pk.hex})
    assert headers["Idempotence-Key"] == order.pk.hex
    assert headers["Authorization"] == "Basic MTAwNTAwOnRlc3Rfc2VjcmV0"
    assert "receipt" not in body


@pytest.mark.parametrize(("inn", "has_receipt"), [("", True), ("7800000002", False)])
def test_persons_get_a_receipt(
    vendor: YooKassaVendor, payer: Company, settings: Settings, inn: str, has_receipt: bool
) -> None:
    account = settings.GATEWAY_ACCOUNTS["yookassa"] | {"has_receipts": True}
    settings.GATEWAY_ACCOUNTS = settings.GATEWAY_ACCOUNTS | {"yookassa": account}
    registry.forget_settings()
    SellerFactory.create(vat_rate=Decimal(22))
    BillingProfile.objects.create(company=payer, inn=inn)

    vendor.place(payer)

    body = sent()
    assert ("receipt" in body) == has_receipt
    if has_receipt:
        receipt = body["receipt"]
        assert isinstance(receipt, dict)
        assert receipt["customer"] == {"email": "owner@example.com"}
        assert receipt["items"][0]["vat_code"] == 12
        assert receipt["items"][0]["amount"] == {"value": "1900.00", "currency": "RUB"}


@pytest.mark.parametrize(
    ("rate", "code"),
    [(None, 1), (Decimal(0), 2), (Decimal(10), 5), (Decimal("20.00"), 6), (Decimal(22), 12)],
)
def test_vat_rate_maps_to_its_yookassa_code(rate: Decimal | None, code: int) -> None:
    assert yookassa.vat_code(rate) == code


def test_unknown_vat_makes_no_wrong_receipt() -> None:
    with pytest.raises(GatewayError):
        yookassa.vat_code(Decimal("12.5"))


@pytest.mark.parametrize("ip", ["203.0.113.7", "185.71.76.32", "::1", ""])
def test_webhook_from_elsewhere_is_not_even_read(
    vendor: YooKassaVendor, payer: Company, ip: str
) -> None:
    order = vendor.place(payer)
    vendor.knows(order, "paid")

    assert vendor.post("payment.succeeded", vendor.payment(order, "paid"), ip) == 403
    assert not Payment.objects.exists()
    assert len(responses.calls) == 1


@pytest.mark.parametrize("ip", ["185.71.76.31", "77.75.156.11", "2a02:5180::7"])
def test_published_addresses_are_read(vendor: YooKassaVendor, payer: Company, ip: str) -> None:
    order = vendor.place(payer)
    vendor.knows(order, "paid")

    assert vendor.post("payment.succeeded", {"id": order.payment_id}, ip) == 200
    assert ledger.balance(payer.pk) == (1000, 0)


def test_provider_that_does_not_answer_is_to_notify_again(
    vendor: YooKassaVendor, payer: Company
) -> None:
    order = vendor.place(payer)
    responses.upsert("GET", f"{vendor.url}/payments/{order.payment_id}", status=500)

    assert vendor.post("payment.succeeded", {"id": order.payment_id}, vendor.theirs) == 503


@pytest.mark.parametrize("what", [{}, {"id": None}])
def test_webhook_without_an_id_is_refused(vendor: YooKassaVendor, what: dict[str, object]) -> None:
    assert vendor.post("payment.succeeded", what, vendor.theirs) in {403, 503}
