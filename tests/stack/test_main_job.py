"""The main use: a code or a link reaches a phone and is charged on delivery."""

import pytest
import requests

from channels.models import Contact
from tests.stack.programs import wait_until
from tests.stack.sender import Sender
from tests.stack.stack import TOKENS, Outcome, Stack

PRICES = {"whatsapp": 1, "telegram": 1, "sms": 16}
BY = {"whatsapp": "в WhatsApp", "telegram": "в Telegram", "sms": "по SMS"}
TARGET = "https://example.com/orders/77?from=message"

each_channel = pytest.mark.parametrize("channel", list(PRICES))


def follow(short_url: str) -> requests.Response:
    return requests.get(short_url, allow_redirects=False, timeout=10)


@each_channel
def test_code_is_sent_read_and_verified(stack: Stack, sender: Sender, channel: str) -> None:
    phone = stack.phone()
    price = PRICES[channel]

    sent = sender.send_code(phone, channel=channel)

    body = sent.json()
    assert (sent.status_code, body["success"]) == (200, True), body
    assert body["message"] == f"Код отправлен {BY[channel]}"
    assert (body["channel"], body["cost"], body["expires_in"]) == (channel, price, 300)
    assert body["status"] in {"sent", "delivered"}
    assert "short_url" not in body
    message = stack.carrier.message(phone)
    assert (message["channel"], message["links"]) == (channel, [])
    assert message["code"] in message["text"]
    assert sender.verify(phone, message["code"]).json()["success"] is True
    assert sender.verify(phone, message["code"]).json()["code"] == "code_used"
    assert stack.ending(phone) == Outcome(["delivered"], charged=price, copies=1)


def test_entered_code_is_reported_to_telegram(stack: Stack, sender: Sender) -> None:
    phone = stack.phone()
    sender.send_code(phone, channel="telegram")

    sender.verify(phone, stack.carrier.message(phone)["code"])

    wait_until(lambda: stack.carrier.message(phone)["reported"] == "code_valid")


def test_tokens_are_held_at_once_and_charged_on_delivery(stack: Stack, sender: Sender) -> None:
    phones = stack.phones(3)
    stack.carrier.set_fault("late_receipt", latency_ms=1500)
    statuses = []
    balances = []

    for phone, channel in zip(phones, PRICES, strict=True):
        statuses.append(sender.send_code(phone, channel=channel).json()["status"])
        balances.append(sender.balance())

    assert statuses == ["sent"] * 3
    assert balances == [(TOKENS - 1, 1), (TOKENS - 2, 2), (TOKENS - 18, 18)]
    assert stack.endings(phones) == [
        Outcome(["delivered"], charged=price, copies=1) for price in PRICES.values()
    ]
    assert sender.balance() == (TOKENS - 18, 0)


@each_channel
def test_code_and_link_share_a_message(stack: Stack, sender: Sender, channel: str) -> None:
    phone = stack.phone()

    sent = sender.send_code(phone, channel=channel, link=TARGET).json()

    message = stack.carrier.message(phone)
    assert message["links"] == [sent["short_url"]]
    assert sender.verify(phone, message["code"]).status_code == 200
    assert stack.ending(phone) == Outcome(["delivered"], charged=PRICES[channel], copies=1)
    result = follow(sent["short_url"])
    assert (result.status_code, result.headers["Location"]) == (302, TARGET)


@each_channel
def test_link_is_sent_at_its_place_in_the_text(stack: Stack, sender: Sender, channel: str) -> None:
    phone = stack.phone()

    sent = sender.send_link(
        phone, TARGET, channel=channel, text="Ваш заказ: :link — ждём вас"
    ).json()

    assert sent["success"] is True, sent
    message = stack.carrier.message(phone)
    assert message["links"] == [sent["short_url"]]
    assert f"Ваш заказ: {sent['short_url']} — ждём вас" in message["text"]
    assert follow(sent["short_url"]).headers["Location"] == TARGET
    assert stack.ending(phone) == Outcome(["delivered"], charged=PRICES[channel], copies=1)


URL = "https://example.com/"
BOTS = [
    ("telegram", "telegram_bot", "https://t.me/simulator_bot?start=contact"),
    ("max", "max_bot", "https://max.ru/simulator_bot?start=contact"),
]


def texts(stack: Stack, phone: str) -> list[str]:
    return [message["text"] for message in stack.carrier.messages(phone)]


@pytest.mark.parametrize(("channel", "provider", "url"), BOTS)
def test_person_stops_the_bot_and_starts_it_again(
    stack: Stack, sender: Sender, channel: str, provider: str, url: str
) -> None:
    phone = stack.phone()
    contact = Contact.objects.filter(phone=phone, provider=provider)
    stack.carrier.act_on_bot(phone, "share")
    wait_until(contact.exists)

    stack.carrier.act_on_bot(phone, "stop")
    wait_until(contact.filter(blocked_at__isnull=False).exists)
    wait_until(lambda: any("/start" in text for text in texts(stack, phone)))
    stopped = sender.send_link(phone, URL, channel=channel)
    stack.carrier.act_on_bot(phone, "start")
    wait_until(contact.filter(blocked_at__isnull=True).exists)
    started = sender.send_link(phone, URL, channel=channel)

    assert (stopped.status_code, stopped.json()["action_url"]) == (422, url)
    assert started.status_code == 200
    assert sender.balance() == (TOKENS - 1, 0)
