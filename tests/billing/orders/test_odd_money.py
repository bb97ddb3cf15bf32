"""Money that does not fit its order: what the company reads, and what the operator does with it."""

from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone

from accounts.models import AuditEvent, Company, Member, User
from billing.gateways import registry
from billing.gateways.base import RefundEvent
from billing.models import BankTransfer, Order, Payment, Refund
from billing.orders import payments, refunds
from billing.wallet import ledger
from channels import reconciliation
from tests.api.races import at_once
from tests.billing.top_ups import payment_event, place_order, post_webhook
from tests.factories import CompanyFactory, MemberFactory, UserFactory

pytestmark = pytest.mark.django_db


def pay(order: Order, amount: str = "1900.00", **changes: Any) -> Payment:
    changes = {"payment_id": f"sandbox-{amount}", **changes}
    post_webhook(payment_event(order, amount=Decimal(amount), **changes))
    return Payment.objects.latest("pk")


def credit(payment: Payment) -> bool:
    """Credits by the operator's button, which writes its own row."""
    row = Payment.objects.get(pk=payment.pk)
    return payments.credit_received(payment=row, user=UserFactory.create())


def balance(company: Company) -> int:
    return ledger.balance(company.pk)[0]


def faults() -> list[str]:
    return [str(breach) for breach in reconciliation.breaches() if "top-up" in breach.check]


@pytest.mark.parametrize(
    ("amount", "tokens"), [("1899.99", 999), ("3800.00", 2000), ("950.00", 500), ("1.90", 1)]
)
def test_received_amount_is_credited_once_in_proportion(
    payer: Company, amount: str, tokens: int
) -> None:
    order = place_order(payer)
    payment = pay(order, amount)

    done = [credit(payment), credit(payment)]

    order.refresh_from_db()
    assert (done, balance(payer)) == ([True, False], tokens)
    assert (order.state, order.tokens, order.amount) == ("paid", tokens, Decimal(amount))
    assert (Payment.objects.get().resolution, Payment.objects.needs_review().count()) == (
        "credited",
        0,
    )
    event = payer.audit.get(action="payment.accepted")
    assert event.changes
    assert event.changes["tokens"] == ["1000", tokens]


def test_refund_of_a_part_payment_takes_its_share(payer: Company) -> None:
    payment = pay(place_order(payer), "950.00")
    credit(payment)

    refunds.apply_event("sandbox", RefundEvent("r1", payment.payment_id, Decimal("475.00"), "RUB"))

    assert balance(payer) == 250


def test_second_payment_becomes_separate_top_up(payer: Company) -> None:
    order = place_order(payer)
    pay(order)
    second = pay(order, payment_id="sandbox-again")

    done = [credit(second), credit(second)]

    assert (done, balance(payer)) == ([True, False], 2000)
    assert sorted(Order.objects.values_list("state", "tokens")) == [("paid", 1000)] * 2
    assert Payment.objects.get(pk=second.pk).order_id != order.pk


@pytest.mark.parametrize(
    "changes", [{"amount": "0.01"}, {"currency": "USD"}, {"order_id": "", "payment_id": "x"}]
)
def test_payment_without_a_computable_amount_is_not_credited(
    payer: Company, changes: dict[str, str]
) -> None:
    payment = pay(place_order(payer), **changes)

    assert not credit(payment)
    assert balance(payer) == 0


@pytest.mark.parametrize("by", ["late", "accepted", "returned"])
def test_settled_payment_is_not_credited_again(payer: Company, by: str) -> None:
    order = place_order(payer)
    if by == "late":
        Order.objects.update(state="expired", finished_at=timezone.now())
    payment = pay(order, "1900.00" if by == "late" else "950.00")
    user = UserFactory.create()
    if by == "accepted":
        payments.credit_in_full(payment=Payment.objects.get(), user=user)
    elif by == "returned":
        payments.close_problem(payment=Payment.objects.get(), user=user, resolution="returned")
    before = balance(payer)

    assert not credit(payment)
    assert balance(payer) == before


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_second", [False, True])
def test_clicks_at_once_credit_once(is_second: bool) -> None:
    payer = CompanyFactory.create()
    user = UserFactory.create()
    order = place_order(payer)
    payment = pay(order, "950.00")
    if is_second:
        pay(order, payment_id="sandbox-first")
        payment = pay(order, payment_id="sandbox-again")
    before = balance(payer)

    def click(verb: Any) -> bool:
        done: bool = verb(payment=Payment.objects.get(pk=payment.pk), user=user)
        return done

    verbs = [payments.credit_received] * 6 + [payments.credit_in_full] * 2
    done = at_once([partial(click, verb) for verb in verbs])

    row = Payment.objects.get(pk=payment.pk)
    credited = row.order.tokens if row.order else 0
    assert (sum(done), balance(payer) - before) == (1, credited)
    assert faults() == []


@pytest.fixture
def page(client: Client, payer: Company) -> Any:
    """The page of the company's only top-up, as an accountant reads it."""
    member = MemberFactory.create(company=payer, role=Member.Role.ACCOUNTANT)
    client.force_login(member.user)

    def read(name: str = "balance-order") -> str:
        args = [] if name.endswith("list") else [Order.objects.earliest("pk").public_id]
        text = client.get(reverse(name, args=args)).content.decode()
        return " ".join(text.replace("\u00a0", " ").split())

    return read


@pytest.mark.parametrize(
    ("amount", "currency", "expected_text"),
    [
        ("1899.99", "RUB", "Пришло 1 899,99 ₽ вместо 1 900,00 ₽."),
        ("3800.00", "RUB", "Пришло 3 800,00 ₽ вместо 1 900,00 ₽."),
        ("1900.00", "USD", "Пришло 1 900,00 $ вместо 1 900,00 ₽."),
    ],
)
@override_settings(SUPPORT_EMAIL="help@example.com")
def test_company_that_paid_another_sum_need_not_pay_again(
    payer: Company, page: Any, amount: str, currency: str, expected_text: str
) -> None:
    order = place_order(payer)
    assert "Оплатить 1 900,00" in page()
    pay(order, amount, currency=currency)

    for name in ("balance-order", "balance-order-status"):
        text = page(name)
        assert expected_text in text
        assert "Оплатить" not in text
        assert "help@example.com" in text
        assert "оплата на проверке" in text
    assert "оплата на проверке" in page("balance-order-list")

    Order.objects.update(state="expired", finished_at=timezone.now())
    assert expected_text in page()


def test_order_page_shows_a_returned_payment_and_its_note(
    payer: Company, page: Any, client: Client
) -> None:
    payment = pay(place_order(payer), "950.00")
    payments.close_problem(
        payment=payment, user=UserFactory.create(), resolution="returned", note="до пятницы"
    )

    text = page()

    assert "950,00 ₽ возвращаем плательщику." in text
    assert "до пятницы" in text
    assert "Оплатить 1 900,00" in text


@pytest.mark.parametrize("amount", ["950.00", "1900.00"])
def test_order_page_shows_a_refund_instead_of_the_tokens(
    payer: Company, page: Any, amount: str
) -> None:
    payment = pay(place_order(payer))
    assert "токены на балансе" in page()

    refunds.apply_event("sandbox", RefundEvent("r1", payment.payment_id, Decimal(amount), "RUB"))

    assert "токены на балансе" not in page()
    assert "деньги возвращены, а токены изъяты" in page()
    assert "токены на балансе" not in page("balance-order-status")


def test_order_page_shows_a_late_and_a_second_payment(payer: Company, page: Any) -> None:
    order = place_order(payer)
    Order.objects.update(state="expired", finished_at=timezone.now())
    pay(order)
    assert "Оплата пришла после срока пополнения и зачислена." in page()

    pay(order, payment_id="sandbox-again")
    assert "Оплата пришла ещё раз: 1 900,00 ₽." in page()
    assert "оплачен" in page("balance-order-list")


def transfer_waits(order: Order, amount: str, inn: str, problem: str = "wrong_amount") -> None:
    BankTransfer.objects.create(
        key="k",
        direction="in",
        source="file",
        account="1",
        booked_on=timezone.localdate(),
        amount=Decimal(amount),
        currency="RUB",
        state="review",
        problem=problem,
        order=order,
        party_inn=inn,
    )


def test_order_page_shows_a_transfer_under_review(payer: Company, page: Any) -> None:
    order = place_order(payer, "invoice")
    transfer_waits(order, "1800.00", order.parties["buyer"]["inn"])

    assert "Пришло 1 800,00 ₽ вместо 1 900,00 ₽." in page()
    public = Client().get(order.payment_page).content.decode().replace("\u00a0", " ")
    assert "Пришло 1 800,00 ₽ вместо 1 900,00 ₽." in public
    assert "оплата на проверке" in page("balance-order-list")


def test_order_page_shows_a_transfer_of_another_payer(payer: Company, page: Any) -> None:
    transfer_waits(place_order(payer, "invoice"), "1900.00", "500100732259", "wrong_payer")

    assert "Пришёл перевод на 1 900,00 ₽." in page()
    assert "оплата на проверке" in page("balance-order-list")


@pytest.mark.parametrize("inn", ["500100732259", ""])
@pytest.mark.parametrize("buyer", ["7800000002", ""])
def test_stranger_payment_does_not_block_company(
    payer: Company, page: Any, inn: str, buyer: str
) -> None:
    order = place_order(payer, "invoice")
    order.parties["buyer"]["inn"] = buyer
    order.save()
    transfer_waits(order, "0.01", inn)

    assert "0,01" not in page()
    assert "Откройте счёт" in page()
    assert "0,01" not in Client().get(order.payment_page).content.decode()
    assert "оплата на проверке" not in page("balance-order-list")


@pytest.fixture
def operator(client: Client) -> User:
    user: User = UserFactory.create(is_staff=True, is_superuser=True)
    client.force_login(user)
    return user


def test_operator_sees_payers_and_amounts(client: Client, payer: Company, operator: User) -> None:
    payment = pay(place_order(payer), "1899.99")

    waiting = client.get(reverse("admin:attention")).content.decode().replace("\u00a0", " ")
    change = client.get(reverse("admin:billing_payment_change", args=[payment.pk]))

    assert f"Ромашка · 1 899,99 ₽ вместо 1 900,00 ₽ · {registry.title('sandbox')}" in waiting
    text = change.content.decode().replace("\u00a0", " ")
    assert "Зачислить 999 токенов" in text
    assert "Вернуть плательщику" in text
    assert "Закрыть с пояснением" in text


def test_operator_credits_returns_or_closes(client: Client, payer: Company, operator: User) -> None:
    rows = [pay(place_order(payer), f"{n}.00", payment_id=f"sandbox-{n}") for n in (19, 20, 21)]
    urls = {
        action: reverse("admin:billing_payment_settle", args=[row.pk, action])
        for action, row in zip(("credit", "return", "close"), rows, strict=True)
    }

    for url in urls.values():
        assert client.get(url).status_code == 200
    assert client.post(urls["close"], {"note": ""}).status_code == 200  # it needs a note
    for url in [*urls.values()] * 2:
        assert client.post(url, {"note": "по телефону"}).status_code == 302

    assert balance(payer) == 10
    assert list(Payment.objects.order_by("pk").values_list("resolution", "note")) == [
        ("credited", ""),
        ("returned", "по телефону"),
        ("closed", "по телефону"),
    ]
    assert client.post(f"{urls['credit'].rstrip('credit/')}/other/").status_code == 404


def test_refund_that_waits_is_closed_with_a_note(client: Client, operator: User) -> None:
    event = RefundEvent("r1", "unknown", Decimal("5.00"), "RUB")
    refund = refunds.apply_event("sandbox", event)
    assert refund is not None
    url = reverse("admin:billing_refund_settle", args=[refund.pk])

    assert (
        "Закрыть с пояснением"
        in client.get(reverse("admin:billing_refund_change", args=[refund.pk])).content.decode()
    )
    assert client.get(url).status_code == 200
    done = [client.post(url, {"note": "чужой платёж"}).status_code for _time in range(2)]

    refund.refresh_from_db()
    assert (done, refund.note, Refund.objects.needs_review().count()) == (
        [302, 302],
        "чужой платёж",
        0,
    )
    assert AuditEvent.objects.filter(action="refund.settled").count() == 1


def test_staff_without_the_right_settle_nothing(client: Client, payer: Company) -> None:
    payment = pay(place_order(payer), "950.00")
    client.force_login(UserFactory.create(is_staff=True))

    url = reverse("admin:billing_payment_settle", args=[payment.pk, "credit"])

    assert client.post(url).status_code == 403
    assert balance(payer) == 0
