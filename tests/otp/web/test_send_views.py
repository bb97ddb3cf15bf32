"""The cabinet's pages that send and check a code and send a message again."""

from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts.models import Company, Member
from billing import message_prices
from billing.models import SmsPrice, Transfer
from billing.wallet import ledger
from channels.models import Message
from links.models import Link
from otp.models import Verification
from tests.api.races import at_once
from tests.factories import CompanyFactory, MemberFactory, MessageFactory
from tests.otp.sent_codes import code_of, wrong_code

PHONE = "+79161234567"
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queued_at_once")]


def form(**changed: object) -> dict[str, object]:
    return {"token": uuid4(), "phone": PHONE, "mode": "live"} | changed


def post(client: Client, kind: str = "code", **changed: object) -> Any:
    return client.post(f"{reverse('send')}?kind={kind}", form(**changed))


def errors_of(response: Any) -> dict[str, list[str]]:
    return dict(response.context["form"].errors)


@pytest.mark.parametrize("kind", ["code", "link"])
def test_message_that_failed_is_sent_by_sms(client: Client, owner: Member, kind: str) -> None:
    failed = MessageFactory.create(
        company=owner.company, phone="+77011234567", channel="whatsapp", kind=kind, state="failed"
    )
    page = client.get(reverse("message-detail", args=[failed.public_id])).content.decode()
    address = f"{reverse('send')}?kind={kind}&again={failed.public_id}"

    filled = client.get(address).context["form"]

    assert address.replace("&", "&amp;") in page
    assert (filled["phone"].value(), filled["channel"].value()) == (failed.phone, "sms")
    assert (filled["mode"].value(), filled["locale"].value()) == (failed.mode, failed.locale)


def test_only_live_failed_messages_are_resent_by_sms(client: Client, owner: Member) -> None:
    ours = {"company": owner.company, "state": "failed"}
    other = CompanyFactory.create()
    by_sms = MessageFactory.create(channel="sms", **ours)
    old = MessageFactory.create(channel="whatsapp", phone="+7701*", **ours)
    arrived = MessageFactory.create(company=owner.company, channel="whatsapp", state="delivered")
    foreign = MessageFactory.create(company=other, channel="whatsapp", state="failed")

    for message in (by_sms, old, arrived):
        page = client.get(reverse("message-detail", args=[message.public_id])).content.decode()
        assert "again=" not in page
    for message_id in (old.public_id, foreign.public_id, "msg_0", "junk"):
        form = client.get(reverse("send"), {"again": message_id}).context["form"]
        assert not form["phone"].value()


def check(client: Client, message: Message, code: str) -> Any:
    return client.post(reverse("send-check", args=[message.public_id]), {"code": code})


def test_code_is_sent_held_audited_and_checked(client: Client, owner: Member) -> None:
    sent = post(client, phone="8 (916) 123-45-67", channel="sms", purpose="login", locale="en")
    message = Message.objects.get()
    checked = check(client, message, code_of(PHONE, "login"))

    assert sent.headers["Location"] == reverse("send-check", args=[message.public_id])
    assert (message.phone, message.channel, message.locale) == (PHONE, "sms", "en")
    assert (message.api_key_id, message.mode) == (None, "live")
    assert ledger.balance(owner.company.pk) == (984, 16)
    assert owner.company.audit.get().subject == "code +7916•••••67"
    assert checked.status_code == 302
    assert Verification.objects.get(purpose="login").verified_at
    assert "Номер подтверждён" in client.get(checked.headers["Location"]).content.decode()


@pytest.mark.parametrize(
    ("tokens", "status", "mode"),
    [(1, "approved", "live"), (0, "approved", "test"), (1000, "pending", "test")],
)
def test_live_is_chosen_first_only_where_it_can_be_sent(
    client: Client, tokens: int, status: str, mode: str
) -> None:
    member = MemberFactory.create(company__status=status)
    if tokens:
        ledger.grant(company=member.company, amount=tokens, reason="first")
    client.force_login(member.user)

    for kind in ("code", "link"):
        form = client.get(f"{reverse('send')}?kind={kind}").context["form"]
        assert form["mode"].value() == mode


def test_test_code_is_inserted_on_the_page_that_asks_for_it(client: Client, owner: Member) -> None:
    post(client, mode="test", channel="whatsapp")
    message = Message.objects.get()
    code = code_of(PHONE, mode="test")

    page = client.get(reverse("send-check", args=[message.public_id])).content.decode()

    assert f"{code} — ваш код подтверждения." in page
    inserts = f'data-insert="code-{message.public_id}" data-into="id_code"'
    assert inserts in " ".join(page.split())


def test_live_code_is_not_on_the_page_that_asks_for_it(client: Client, owner: Member) -> None:
    post(client, channel="sms")
    message = Message.objects.get()

    page = client.get(reverse("send-check", args=[message.public_id])).content.decode()

    assert code_of(PHONE) not in page
    assert "data-insert" not in page


def test_link_is_sent_with_its_text(client: Client, owner: Member) -> None:
    response = post(client, "link", url="https://example.com/a", text="Заказ: :link", channel="sms")

    message = Message.objects.get()
    link = Link.objects.get()
    assert response.headers["Location"] == reverse("message-detail", args=[message.public_id])
    assert message.params["text"] == f"Заказ: {link.short_url}"
    assert (
        "нет: отправлено из кабинета" in client.get(response.headers["Location"]).content.decode()
    )


def test_form_that_comes_twice_sends_once(client: Client, owner: Member) -> None:
    once = form()
    responses = [client.post(reverse("send"), once) for _time in range(2)]

    assert len({response.headers["Location"] for response in responses}) == 1
    assert Message.objects.count() == 1
    assert ledger.balance(owner.company.pk) == (999, 1)


def test_corrected_form_is_sent_again(client: Client, owner: Member) -> None:
    once = form()
    client.post(reverse("send"), once)
    client.post(reverse("send"), once | {"phone": "+79161234568"})

    assert Message.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_parallel_copies_of_a_form_send_once(company: Company) -> None:
    member = MemberFactory.create(company=company)
    once = form()

    clients = [Client() for _number in range(4)]
    for client in clients:
        client.force_login(member.user)

    responses = at_once([partial(client.post, reverse("send"), once) for client in clients])

    places = [response.headers.get("Location", "") for response in responses]

    assert Message.objects.count() == 1
    assert Transfer.objects.filter(kind="hold").count() == 1
    assert len(set(places) - {""}) == 1


@pytest.mark.parametrize(
    ("kind", "wrong", "expected_text"),
    [
        ("code", {"phone": "12"}, "номер"),
        ("code", {"phone": "+12025550123"}, "США|US|стран"),
        ("code", {"channel": "pigeon"}, "pigeon"),
        ("code", {"purpose": "a\u200bb"}, "ечатн"),
        ("code", {"token": "1"}, ""),
        ("link", {"url": "http://localhost/"}, ""),
        ("link", {"url": "https://example.com", "text": "x" * 501}, "500"),
    ],
)
def test_field_at_fault_is_named(
    client: Client, owner: Member, kind: str, wrong: dict[str, str], expected_text: str
) -> None:
    (field, *_others) = reversed(wrong)

    response = post(client, kind, **wrong)

    assert response.status_code == 200
    assert list(errors_of(response)) == [field]
    assert any(word in " ".join(errors_of(response)[field]) for word in expected_text.split("|"))
    assert not Message.objects.exists()
    assert ledger.balance(owner.company.pk) == (1000, 0)


def test_too_few_tokens_lead_to_the_balance(client: Client) -> None:
    poor = MemberFactory.create()
    client.force_login(poor.user)

    page = post(client).content.decode()

    assert "Недостаточно токенов: ничего не отправлено." in page
    assert f'value="{PHONE}"' in page
    assert f'<a href="{reverse("balance")}">Пополнить баланс</a>' in page


def test_new_company_sends_in_test_mode_only(client: Client) -> None:
    member = MemberFactory.create(company=CompanyFactory.create(status="pending"))
    client.force_login(member.user)

    chosen = client.get(reverse("send")).context["form"]["mode"].value()
    live = post(client)
    test = post(client, mode="test")

    assert chosen == "test"
    assert live.status_code == 200
    assert test.status_code == 302
    assert Message.objects.get().mode == "test"


def test_suspended_company_sends_nothing(client: Client) -> None:
    member = MemberFactory.create(company=CompanyFactory.create(status="suspended"))
    client.force_login(member.user)

    for mode in ("live", "test"):
        assert post(client, mode=mode).status_code == 200
    assert not Message.objects.exists()


def test_wrong_code_costs_an_attempt(client: Client, owner: Member) -> None:
    post(client)
    message = Message.objects.get()

    page = check(client, message, wrong_code(PHONE)).content.decode()

    assert "Осталось попыток: 4" in page
    assert Verification.objects.get().attempts == 1


def test_code_that_was_purged_cannot_be_entered(client: Client, owner: Member) -> None:
    message = MessageFactory.create(company=owner.company)

    page = check(client, message, "123456").content.decode()

    assert "Этот код уже нельзя ввести" in page


def test_requests_are_counted_as_those_of_a_key(
    client: Client, owner: Member, settings: Settings
) -> None:
    settings.API_RATE = (settings.API_RATE[0], 86_400)  # all in one window
    Company.objects.filter(pk=owner.company.pk).update(api_rate=2)

    responses = [post(client, mode="test", phone=f"+7916123456{n}") for n in range(3)]

    assert [response.status_code for response in responses] == [302, 302, 200]
    assert Message.objects.count() == 2


@pytest.mark.parametrize(
    ("phone", "price"), [("+77011234567", 22), ("8 916 123-45-67", 16), ("nonsense", 16)]
)
def test_channels_have_the_prices_of_the_typed_number(
    client: Client, owner: Member, phone: str, price: int
) -> None:
    SmsPrice.objects.create(country="KZ", tokens=22)
    message_prices.refresh()
    query = {"kind": "link", "phone": phone, "channel": "sms"}

    part = client.get("/cabinet/send/channels", query).content.decode()

    assert f'<option value="sms" selected>SMS · {price} токен' in part
    assert client.get("/cabinet/send/channels", {"kind": "fax"}).status_code == 404
