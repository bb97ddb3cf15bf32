"""Payments credit their orders once, and those that fit no order wait for the operator."""

import random
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.test import override_settings
from django.utils import timezone

from accounts.models import Company, Mail, Member
from billing.gateways.base import PaymentState
from billing.gateways.sandbox import Sandbox, webhook_body
from billing.models import Order, Payment, Transfer
from billing.orders import orders, payments
from billing.wallet import ledger
from tests.billing.bank_statements.transfers import paid, received
from tests.billing.top_ups import payment_event, place_order, post_webhook
from tests.factories import CompanyFactory, EndpointFactory, MemberFactory, UserFactory
from webhooks.models import Event

pytestmark = pytest.mark.django_db
TODAY = timezone.localdate()


def problems() -> list[str]:
    return list(Payment.objects.order_by("pk").values_list("problem", flat=True))


def top_ups(company: Company) -> list[tuple[str | None, int]]:
    rows = Transfer.objects.filter(company=company, kind="top_up")
    return list(rows.values_list("key", "amount"))


def test_payment_credits_the_order(payer: Company) -> None:
    order = place_order(payer)

    status = post_webhook(payment_event(order))

    order.refresh_from_db()
    assert (status, order.state) == (200, "paid")
    assert order.paid_at is not None
    assert ledger.balance(payer.pk) == (1000, 0)
    assert top_ups(payer) == [(f"top_up:{order.id.hex}", 1000)]
    assert problems() == [""]


@pytest.mark.parametrize("way", ["sandbox", "invoice"])
def test_money_for_a_deleted_company_waits_for_the_operator(payer: Company, way: str) -> None:
    """Nobody could use or notice the tokens."""
    order = place_order(payer, way)
    Company.objects.filter(pk=payer.pk).update(deleted_at=timezone.now())

    if way == "sandbox":
        post_webhook(payment_event(order))
    else:
        received(paid(order))

    assert ledger.balance(payer.pk) == (0, 0)
    assert Payment.objects.needs_review().get().problem == "deleted"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"amount": Decimal("1899.99")}, "wrong_amount"),
        ({"amount": Decimal("19000.00")}, "wrong_amount"),
        ({"currency": "KZT"}, "wrong_currency"),
        ({"order_id": "0" * 32, "payment_id": "sandbox-x"}, "unknown_order"),
        ({"order_id": "junk", "payment_id": "sandbox-x"}, "unknown_order"),
    ],
)
def test_payment_that_does_not_fit_waits_for_the_operator(
    payer: Company, changes: dict[str, object], problem: str
) -> None:
    order = place_order(payer)

    statuses = [post_webhook(payment_event(order, **changes)) for _ in range(2)]

    order.refresh_from_db()
    assert statuses == [200, 200]
    assert (order.state, problems()) == ("pending", [problem])
    assert ledger.balance(payer.pk) == (0, 0)
    assert Payment.objects.needs_review().count() == 1


@pytest.mark.parametrize(
    ("body", "signature", "status"),
    [
        (None, "", 403),
        (None, "0" * 64, 403),
        (None, "подпись", 403),
        (b"junk", None, 403),
        (b"[]", None, 403),
        (
            b'{"payment": "x", "order": "", "amount": "much", "currency": "", "state": ""}',
            None,
            403,
        ),
    ],
)
def test_forged_or_malformed_webhook_is_refused(
    payer: Company, body: bytes | None, signature: str | None, status: int
) -> None:
    order = place_order(payer)

    assert post_webhook(payment_event(order) if body is None else body, signature) == status
    assert Payment.objects.count() == 0
    assert ledger.balance(payer.pk) == (0, 0)


def test_signature_is_of_this_body_by_this_service(payer: Company) -> None:
    order = place_order(payer)
    small = place_order(payer, tokens=1)
    body = webhook_body(payment_event(order))
    other = webhook_body(payment_event(small))
    ours = Sandbox(public_url="")
    with override_settings(SECRET_KEY="another"):
        theirs = Sandbox(public_url="")

    assert [post_webhook(body, ours.sign(other)), post_webhook(body, theirs.sign(body))] == [
        403,
        403,
    ]
    assert post_webhook(body, ours.sign(body)) == 200


@override_settings(PAYMENT_GATEWAYS=["invoice"])
def test_hook_of_a_gateway_that_is_off_is_not_there(payer: Company) -> None:
    assert post_webhook(b"{}") == 404


def test_payment_is_mailed_to_members_with_billing_roles(payer: Company) -> None:
    for role in Member.Role.values:
        MemberFactory.create(company=payer, role=role, user__email=f"{role}@example.com")
    order = place_order(payer)

    post_webhook(payment_event(order))
    post_webhook(payment_event(order))

    emails = Mail.objects.filter(template="top_up_paid").order_by("to")
    assert [mail.to for mail in emails] == ["accountant@example.com", "owner@example.com"]
    assert emails[0].subject == "Kvitok: 1 000 токенов для компании «Ромашка»"
    assert "1\u00a0900,00\u00a0₽" in emails[0].text


SCRIPT: list[Callable[[Order], object]] = [
    lambda order: post_webhook(payment_event(order)),
    lambda order: post_webhook(payment_event(order, state=PaymentState.CANCELED)),
    lambda order: post_webhook(payment_event(order, amount=Decimal(1), payment_id="sandbox-1")),
    lambda order: post_webhook(payment_event(order, payment_id="sandbox-2")),
    lambda order: post_webhook(payment_event(order, currency="USD", payment_id="sandbox-3")),
    lambda order: orders.expire(),
    lambda order: orders.cancel(order=order, user=UserFactory.create()),
]


@pytest.mark.parametrize("seed", range(12))
def test_any_sequence_of_events_credits_once_if_paid(payer: Company, seed: int) -> None:
    steps = random.Random(seed).choices(range(len(SCRIPT)), k=8)  # noqa: S311
    order = place_order(payer)
    Order.objects.filter(pk=order.pk).update(expires_at=timezone.now() - timedelta(hours=1))

    for step in steps:
        SCRIPT[step](order)

    came = bool({0, 3} & set(steps))
    order.refresh_from_db()
    assert (order.state == "paid") is came
    assert ledger.balance(payer.pk) == (1000 if came else 0, 0)
    assert Payment.objects.filter(is_credited=True).count() == int(came)


def confirm(order: Order, **changes: object) -> str | None:
    """The problem of the recorded payment; None without one."""
    facts: dict[str, object] = {
        "amount": order.amount,
        "paid_on": TODAY,
        "reference": "15",
        "user": UserFactory.create(),
    }
    payment = payments.confirm_bank_transfer(order=order, **(facts | changes))  # type: ignore[arg-type]
    return payment.problem if payment else None


def test_operator_confirms_a_transfer_once(payer: Company) -> None:
    order = place_order(payer, "invoice")

    done = [confirm(order), confirm(order), confirm(order, reference="16")]

    assert done == ["", None, "second"]
    assert ledger.balance(payer.pk) == (1000, 0)
    assert [event.action for event in payer.audit.order_by("pk")] == [
        "order.created",
        "order.confirmed",
        "payment.recorded",
    ]


def test_operator_confirms_an_invoice_that_has_expired(payer: Company) -> None:
    order = place_order(payer, "invoice")
    Order.objects.all().end(Order.State.EXPIRED)

    assert confirm(order) == "late"
    assert ledger.balance(payer.pk) == (1000, 0)
    assert problems() == ["late"]


def test_transfer_of_another_amount_waits_for_the_operator(payer: Company) -> None:
    order = place_order(payer, "invoice")
    amount = Decimal("1900.01")

    done = [confirm(order, amount=amount), confirm(order, amount=amount)]

    assert done == ["wrong_amount", None]
    assert (problems(), ledger.balance(payer.pk)) == (["wrong_amount"], (0, 0))
    assert payments.credit_in_full(payment=Payment.objects.get(), user=UserFactory.create())
    assert ledger.balance(payer.pk) == (1000, 0)


def test_mistyped_amount_is_corrected(payer: Company) -> None:
    order = place_order(payer, "invoice")

    done = [confirm(order, amount=Decimal(19)), confirm(order), confirm(order, amount=Decimal(19))]

    assert done == ["wrong_amount", "", None]
    assert (problems(), ledger.balance(payer.pk)) == ([""], (1000, 0))
    assert Payment.objects.get().amount == order.amount


def test_settled_amount_is_kept(payer: Company) -> None:
    order = place_order(payer, "invoice")
    confirm(order, amount=Decimal(19))
    payments.close_problem(payment=Payment.objects.get(), user=UserFactory.create())

    assert confirm(order) is None
    assert ledger.balance(payer.pk) == (0, 0)


@pytest.mark.parametrize("reference", ["№15", "№ 15", "000015", " 15 "])
def test_payment_number_is_normalised(payer: Company, reference: str) -> None:
    first, second = place_order(payer, "invoice"), place_order(payer, "invoice")
    confirm(first)

    with pytest.raises(ValidationError, match=str(first)):
        confirm(second, reference=reference)

    assert confirm(first, reference=reference) is None


def test_transfer_pays_one_invoice(payer: Company) -> None:
    first, second = place_order(payer, "invoice"), place_order(payer, "invoice")
    other = place_order(CompanyFactory.create(), "invoice")
    confirm(first)

    with pytest.raises(ValidationError, match=str(first)):
        confirm(second)

    assert confirm(other) == ""  # payers number their transfers alike
    assert ledger.balance(payer.pk) == (1000, 0)


def test_database_credits_an_order_by_one_payment(payer: Company) -> None:
    order = place_order(payer)
    post_webhook(payment_event(order))
    payment = Payment.objects.get()

    with pytest.raises(IntegrityError, match="payment_credits_order_once"), transaction.atomic():
        Payment.objects.create(
            gateway="sandbox",
            payment_id="x",
            order=order,
            amount=payment.amount,
            currency="RUB",
            is_credited=True,
        )
    with pytest.raises(IntegrityError, match="key"), transaction.atomic():
        ledger.top_up(company=payer, amount=1000, key=order.transfer_key)


def test_endpoint_is_called_back_once(payer: Company) -> None:
    EndpointFactory.create(company=payer, kinds=["top_up.paid"])
    order = place_order(payer)

    post_webhook(payment_event(order))
    post_webhook(payment_event(order))

    event = Event.objects.get()
    assert event.data.keys() == {"id", "status", "tokens", "amount", "currency", "paid_at", "test"}
    assert (event.data["id"], event.data["amount"]) == (order.public_id, "1900.00")
