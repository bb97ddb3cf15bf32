"""The admin's pages of invoices, payments and refunds."""

from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import AuditEvent, Company, User
from billing.gateways import registry
from billing.models import Order, Payment, Refund, Seller, Tariff
from billing.wallet import ledger
from tests.billing.top_ups import payment_event, place_order, post_webhook
from tests.factories import CompanyFactory, SellerFactory, UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def payer(operator: User) -> Company:
    company: Company = CompanyFactory.create(name="Ромашка")
    return company


def facts(order: Order, **changes: Any) -> dict[str, Any]:
    today = timezone.localdate().isoformat()
    return {"amount": "1 900,00", "paid_on": today, "reference": "15"} | changes


def confirm(client: Client, order: Order, **changes: Any) -> Any:
    address = reverse("admin:billing_order_confirm", args=[order.pk])
    return client.post(address, facts(order, **changes))


def messages_of(response: Any) -> list[str]:
    return [str(message) for message in get_messages(response.wsgi_request)]


def test_unpaid_invoices_come_first(client: Client, payer: Company) -> None:
    waits = place_order(payer, "invoice")
    paid = place_order(payer, "invoice")
    paid.mark_paid()
    place_order(payer)

    response = client.get(reverse("admin:billing_order_changelist"))

    assert response.context["cl"].result_list[0] == waits
    assert len(response.context["cl"].result_list) == 3


def test_number_finds_the_invoice(client: Client, payer: Company) -> None:
    place_order(payer, "invoice")
    second = place_order(payer, "invoice")

    response = client.get(reverse("admin:billing_order_changelist"), {"q": f" {second} "})

    assert list(response.context["cl"].result_list) == [second]


def test_transfer_is_confirmed_once(client: Client, payer: Company, operator: User) -> None:
    order = place_order(payer, "invoice")
    form = client.get(reverse("admin:billing_order_confirm", args=[order.pk]))

    responses = [
        confirm(client, order),
        confirm(client, order),
        confirm(client, order, reference="9"),
    ]

    assert form.status_code == 200
    assert [messages_of(response)[-1:] for response in responses] == [
        ["Оплата подтверждена."],
        ["Эта оплата уже внесена, или её перевод ждёт решения."],
        ["Оплата внесена, разберитесь с ней (заказ уже был оплачен: ничего не зачислено)."],
    ]
    assert form.context["form"].initial == {}
    assert form.context["form"]["amount"].value() is None
    payment = Payment.objects.get(is_credited=True)
    assert (payment.confirmed_by, payment.reference) == (operator, "15")
    assert ledger.balance(payer.pk) == (1000, 0)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"amount": "много"}, "amount"),
        ({"paid_on": "2999-01-01"}, "paid_on"),
        ({"paid_on": ""}, "paid_on"),
        ({"reference": ""}, "reference"),
    ],
)
def test_confirmation_that_does_not_fit_is_refused(
    client: Client, payer: Company, changes: dict[str, str], field: str
) -> None:
    response = confirm(client, place_order(payer, "invoice"), **changes)

    assert response.status_code == 200
    assert list(response.context["form"].errors) == [field]
    assert ledger.balance(payer.pk) == (0, 0)


def test_transfer_of_another_invoice_is_refused(client: Client, payer: Company) -> None:
    first, second = place_order(payer, "invoice"), place_order(payer, "invoice")
    confirm(client, first)

    response = confirm(client, second)

    assert str(first) in str(response.context["form"].errors["reference"])
    assert ledger.balance(payer.pk) == (1000, 0)


def test_order_is_cancelled(client: Client, payer: Company) -> None:
    order = place_order(payer, "invoice")
    address = reverse("admin:billing_order_cancel", args=[order.pk])

    asked = client.get(address)
    responses = [client.post(address), client.post(address)]

    order.refresh_from_db()
    assert (asked.status_code, order.state) == (200, "canceled")
    assert [messages_of(response)[-1] for response in responses] == [
        "Пополнение отменено.",
        "Оно уже завершено.",
    ]


def test_buttons_are_those_of_the_state(client: Client, payer: Company) -> None:
    order = place_order(payer, "invoice")
    address = reverse("admin:billing_order_change", args=[order.pk])
    links = [
        reverse(f"admin:billing_order_{verb}", args=[order.pk]) for verb in ("confirm", "cancel")
    ]

    shown = []
    for state in ("pending", "expired", "paid"):
        paid_at = timezone.now() if state == "paid" else None
        Order.objects.update(state=state, paid_at=paid_at)
        body = client.get(address).content.decode()
        shown.append([link in body for link in links])

    assert shown == [[True, True], [True, False], [False, False]]


@pytest.mark.parametrize("verb", ["confirm", "cancel"])
def test_act_leads_back_to_its_order(client: Client, payer: Company, verb: str) -> None:
    order = place_order(payer, "invoice")

    page = client.get(reverse(f"admin:billing_order_{verb}", args=[order.pk])).content.decode()

    back = f'class="closelink" href="{reverse("admin:billing_order_change", args=[order.pk])}"'
    assert back in " ".join(page.split())
    assert "1\xa0000 токенов" in page


def test_act_leads_back_to_its_payment(client: Client, payer: Company) -> None:
    post_webhook(payment_event(place_order(payer), amount=Decimal(1)))
    pk = Payment.objects.get().pk

    page = client.get(reverse("admin:billing_payment_settle", args=[pk, "close"])).content.decode()

    assert page.count(f'href="{reverse("admin:billing_payment_change", args=[pk])}"') == 2


@pytest.mark.parametrize("model", ["order", "payment", "refund"])
def test_gateway_is_shown_by_its_title(client: Client, payer: Company, model: str) -> None:
    order = place_order(payer)
    payment = Payment.objects.create(
        order=order, gateway=order.gateway, payment_id="1", amount=1, currency="RUB"
    )
    refund = Refund.objects.create(
        payment=payment, gateway=order.gateway, refund_id="1", amount=1, currency="RUB"
    )
    pk = {"order": order.pk, "payment": payment.pk, "refund": refund.pk}[model]
    addresses = [
        reverse(f"admin:billing_{model}_changelist"),
        reverse(f"admin:billing_{model}_change", args=[pk]),
    ]

    pages = [client.get(address).content.decode() for address in addresses]

    assert all(registry.title(order.gateway) in page for page in pages)
    assert not [page for page in pages if f">{order.gateway}<" in page]


def act(client: Client, action: str) -> Any:
    ids = list(Payment.objects.values_list("pk", flat=True))
    address = reverse("admin:billing_payment_changelist")
    return client.post(address, {"action": action, "_selected_action": ids})


def test_payment_that_needs_attention_comes_first(client: Client, payer: Company) -> None:
    wrong = place_order(payer)
    post_webhook(payment_event(wrong, amount=Decimal(1)))
    post_webhook(payment_event(place_order(payer)))
    address = reverse("admin:billing_payment_changelist")

    rows = client.get(address).context["cl"].result_list
    alone = client.get(address, {"attention": "yes"}).context["cl"].result_list

    assert [row.problem for row in rows] == ["wrong_amount", ""]
    assert [row.order for row in alone] == [wrong]


@pytest.mark.parametrize(("action", "balance"), [("accept", 1000), ("settle", 0)])
def test_payment_is_dealt_with(client: Client, payer: Company, action: str, balance: int) -> None:
    post_webhook(payment_event(place_order(payer), amount=Decimal(1)))

    act(client, action)
    act(client, action)

    assert ledger.balance(payer.pk) == (balance, 0)
    assert Payment.objects.needs_review().count() == 0


def adjust(client: Client, **fields: Any) -> Any:
    """Confirms the typed adjustment, which is the last step."""
    sent = {"once": uuid4(), "confirmed": "yes"} | fields
    return client.post(reverse("admin:billing_wallet_adjust"), sent)


def test_operator_without_the_right_moves_nothing(client: Client, payer: Company) -> None:
    client.force_login(UserFactory.create(is_staff=True))
    order = place_order(payer, "invoice")

    responses = [
        confirm(client, order),
        client.post(reverse("admin:billing_order_cancel", args=[order.pk])),
        adjust(client, company=payer.pk, tokens=5, reason="x"),
    ]

    assert [response.status_code for response in responses] == [403, 403, 403]
    assert ledger.balance(payer.pk) == (0, 0)


def test_only_one_seller_is_allowed(client: Client, operator: User) -> None:
    seller = SellerFactory.build()
    fields = {name: getattr(seller, name) for name in ("name", "inn", "kpp", "address", "bic")}
    fields |= {"bank_name": "Банк", "account": seller.account, "corr_account": seller.corr_account}
    add = reverse("admin:billing_seller_add")

    wrong = client.post(add, fields | {"inn": "7700000000"})
    right = client.post(add, fields)
    second = client.get(add)

    assert list(wrong.context["adminform"].form.errors) == ["inn"]
    assert (right.status_code, second.status_code) == (302, 403)
    assert [(stored.pk, stored.inn) for stored in Seller.objects.all()] == [(1, "7700000009")]
    (deed,) = AuditEvent.objects.filter(action="seller.changed")
    assert "inn  → 7700000009" in deed.subject


def test_prices_are_changed_with_a_trace(client: Client, operator: User) -> None:
    tariffs = reverse("admin:billing_tariff_changelist")
    client.post(
        reverse("admin:billing_tariff_add"),
        {"tokens_from": "1 900", "price": "1.5", "currency": "RUB"},
    )
    tariff = Tariff.objects.get(tokens_from=1900)
    client.post(
        reverse("admin:billing_tariff_change", args=[tariff.pk]),
        {"tokens_from": "1\u00a0900", "price": "1,2", "currency": "RUB"},
    )
    chosen = {"action": "delete_selected", "_selected_action": [tariff.pk], "post": "yes"}
    client.post(tariffs, chosen)

    deeds = AuditEvent.objects.filter(action="prices.changed", user=operator).order_by("pk")
    added, changed, deleted = [deed.subject for deed in deeds]
    assert "price  → 1.5" in added
    assert changed.endswith(": price 1.5000 → 1.2")
    assert deleted.endswith(" → —")
    assert not Tariff.objects.filter(pk=tariff.pk).exists()
