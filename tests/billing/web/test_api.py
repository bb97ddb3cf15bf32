"""The API's top-ups."""

from datetime import datetime
from functools import partial
from typing import Any

import pytest
from django.test import override_settings

from accounts.models import Company
from api.models import IdempotentRequest
from billing.models import Order, Seller
from billing.wallet import ledger
from tests.api.books import books
from tests.api.clients import Api, ApiResponse
from tests.api.races import at_once
from tests.billing.top_ups import fill_billing_details, payment_event, post_webhook
from tests.factories import (
    OrderFactory,
    PackageFactory,
    SellerFactory,
    TariffFactory,
)

pytestmark = pytest.mark.django_db
FIELDS = {
    *("success", "message", "id", "status", "payment_url", "tokens", "package", "amount"),
    *("currency", "gateway", "invoice", "created_at", "expires_at", "paid_at"),
}


@pytest.fixture(autouse=True)
def shop(company: Company) -> None:
    fill_billing_details(company)
    SellerFactory.create()
    PackageFactory.create()
    TariffFactory.create(tokens_from=100)


def test_top_up_by_invoice_is_the_default(api: Api) -> None:
    response = api.post("/top-up", {"tokens": 150})

    body = response.body
    assert response.status == 200
    assert body.keys() == FIELDS
    assert body["id"].startswith("top_")
    assert (body["status"], body["gateway"]) == ("pending", "invoice")
    assert (body["tokens"], body["amount"], body["currency"]) == (150, "300.00", "RUB")
    assert body["invoice"].endswith("-1")
    assert "/invoices/" in body["payment_url"]
    assert datetime.fromisoformat(body["expires_at"]) > datetime.fromisoformat(body["created_at"])
    assert ledger.balance(api.company.pk) == (1000, 0)


def test_package_is_bought_by_the_sandbox_over_the_api(api: Api) -> None:
    wish = {"package": "start", "gateway": "sandbox", "return_url": "https://shop.example/back"}

    body = api.post("/top-up", wish).body

    order = Order.objects.get()
    assert (body["package"], body["amount"], body["paid_at"]) == ("start", "1900.00", None)
    assert (order.return_url, order.api_key is not None) == ("https://shop.example/back", True)


def test_paid_top_up_has_its_status_and_time(api: Api) -> None:
    placed = api.post("/top-up", {"package": "start", "gateway": "sandbox"}).body
    post_webhook(payment_event(Order.objects.get()))

    body = api.get(f"/top-up/{placed['id']}").body

    assert body == placed | {
        "message": "Пополнение оплачено",
        "status": "paid",
        "paid_at": body["paid_at"],
    }
    assert body["paid_at"] is not None
    assert api.get("/balance").body["available"] == 2000


REFUSED: list[tuple[dict[str, Any], set[str]]] = [
    ({}, {"tokens"}),
    ({"tokens": 150, "package": "start"}, {"tokens"}),
    ({"tokens": 99}, {"tokens"}),
    ({"tokens": 100_000_001}, {"tokens"}),
    ({"tokens": "150"}, {"tokens"}),
    ({"tokens": 150.5}, {"tokens"}),
    ({"tokens": True}, {"tokens"}),
    ({"package": "none"}, {"package"}),
    ({"package": 1}, {"package"}),
    ({"tokens": 150, "gateway": "bitcoin"}, {"gateway"}),
    ({"tokens": 150, "return_url": "shop.example"}, {"return_url"}),
    ({"tokens": 150, "return_url": "javascript:alert(1)"}, {"return_url"}),
    ({"tokens": 150, "return_url": "https://[::1"}, {"return_url"}),
    ({"package": "x" * 41, "gateway": 5, "return_url": []}, {"package", "gateway", "return_url"}),
]


@pytest.mark.parametrize(("wish", "fields"), REFUSED)
def test_invalid_fields_are_named(api: Api, wish: dict[str, Any], fields: set[str]) -> None:
    before = books()

    response = api.post("/top-up", wish)

    assert (response.status, response.code) == (422, "invalid_input")
    assert response.body["errors"].keys() == fields
    assert books() == before


def test_test_key_cannot_top_up(test_api: Api) -> None:
    responses = [
        test_api.post("/top-up", {"tokens": 150}),
        test_api.get("/top-up"),
        test_api.get("/top-up/top_0"),
    ]

    assert {(response.status, response.code) for response in responses} == {(403, "forbidden")}
    assert "боев" in responses[0].body["message"]
    assert Order.objects.count() == 0


def test_top_up_options_list_packages_and_gateways(api: Api, test_api: Api) -> None:
    PackageFactory.create(code="off", is_active=False)

    body = api.get("/top-up/options").body

    assert body == test_api.get("/top-up/options").body
    assert body["packages"] == [
        {"package": "start", "tokens": 1000, "amount": "1900.00", "currency": "RUB"}
    ]
    assert body["gateways"] == ["invoice", "sandbox"]
    assert (body["min_tokens"], body["max_tokens"]) == (100, 100_000_000)


def test_without_a_seller_there_are_no_invoices(api: Api) -> None:
    Seller.objects.all().delete()

    assert api.post("/top-up", {"tokens": 150}).body["gateway"] == "sandbox"
    assert api.post("/top-up", {"tokens": 150, "gateway": "invoice"}).code == "invalid_input"


@override_settings(PAYMENT_GATEWAYS=["invoice"])
def test_without_any_way_to_pay(api: Api) -> None:
    Seller.objects.all().delete()

    response = api.post("/top-up", {"tokens": 150})

    assert (response.status, response.code) == (503, "unavailable")


@override_settings(MAX_OPEN_ORDERS=1)
def test_order_beside_too_many_unpaid_ones_is_refused(api: Api) -> None:
    api.post("/top-up", {"tokens": 150})

    response = api.post("/top-up", {"tokens": 150}, Accept_Language="en")

    assert (response.status, response.code) == (422, "invalid_input")
    assert "unpaid" in response.body["message"]


def test_list_is_paged(api: Api) -> None:
    made = [api.post("/top-up", {"tokens": 150}).body["id"] for _ in range(3)]
    OrderFactory.create()  # somebody else's

    first = api.get("/top-up", {"limit": 2}).body
    second = api.get("/top-up", {"limit": 2, "cursor": first["next_cursor"]}).body

    assert [row["id"] for row in first["data"] + second["data"]] == made[::-1]
    assert (first["has_more"], second["has_more"], second["next_cursor"]) == (True, False, None)
    assert first["data"][0].keys() == FIELDS - {"success", "message"}


def is_replay_of(response: ApiResponse, first: ApiResponse) -> bool:
    return response.headers.get("Idempotent-Replayed") == "true" and response.raw == first.raw


def test_crashed_request_is_answered_from_its_order(api: Api) -> None:
    first = api.post("/top-up", {"package": "start", "gateway": "sandbox"}, Idempotency_Key="k")
    IdempotentRequest.objects.update(status=None, body=None)
    Order.objects.update(state="created", payment_id="", payment_url="")

    again = api.post("/top-up", {"package": "start", "gateway": "sandbox"}, Idempotency_Key="k")

    assert is_replay_of(again, first)


@pytest.mark.django_db(transaction=True)
def test_parallel_top_ups_with_one_key_create_one_order(api: Api) -> None:
    call = partial(api.post, "/top-up", {"tokens": 150}, Idempotency_Key="k")

    responses = at_once([call] * 8)

    assert Order.objects.count() == 1
    assert {response.status for response in responses} <= {200, 409}
    assert len({response.raw for response in responses if response.status == 200}) == 1
