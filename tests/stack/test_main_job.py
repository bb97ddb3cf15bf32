"""The main use: a code or a link reaches a phone and is charged on delivery."""

import pytest
import requests

from links.follow import resolution
from links.models import Link
from tests.stack.programs import wait_until
from tests.stack.sender import Sender
from tests.stack.stack import TOKENS, Outcome, Stack, expire

PRICES = {"whatsapp": 1, "telegram": 1, "sms": 16}
BY = {"whatsapp": "в WhatsApp", "telegram": "в Telegram", "sms": "по SMS"}
TARGET = "https://example.com/orders/77?from=message"

each_channel = pytest.mark.parametrize("channel", list(PRICES))


def follow(short_url: str) -> requests.Response:
    return requests.get(short_url, allow_redirects=False, timeout=10)


@each_channel
def test_a_code_is_sent_read_and_verified(stack: Stack, sender: Sender, channel: str) -> None:
    phone, price = stack.phone(), PRICES[channel]

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


def test_tokens_are_held_at_once_and_charged_on_delivery(stack: Stack, sender: Sender) -> None:
    phones = stack.phones(3)
    stack.carrier.set_fault("late_receipt", latency_ms=1500)
    statuses, balances = [], []

    for phone, channel in zip(phones, PRICES, strict=True):
        statuses.append(sender.send_code(phone, channel=channel).json()["status"])
        balances.append(sender.balance())

    assert statuses == ["sent"] * 3
    assert balances == [(TOKENS - 1, 1), (TOKENS - 2, 2), (TOKENS - 18, 18)]
    assert stack.endings(phones) == [
        Outcome(["delivered"], charged=price, copies=1) for price in PRICES.values()
    ]
    assert sender.balance() == (TOKENS - 18, 0)


@pytest.mark.parametrize(("default", "expected"), [("", "whatsapp"), ("sms", "sms")])
def test_without_a_channel_the_company_s_default_is_used(
    stack: Stack, default: str, expected: str
) -> None:
    sender, phone = stack.sender(default_channel=default), stack.phone()

    sent = sender.send_code(phone).json()

    assert sent["channel"] == stack.carrier.message(phone)["channel"] == expected


def test_phone_spellings_are_normalized(stack: Stack, sender: Sender) -> None:
    phone = stack.phone()
    bare = phone.removeprefix("+7")
    spaced = f"+7 ({bare[:3]}) {bare[3:6]}-{bare[6:8]}-{bare[8:]}"
    sender.send_code(spaced)
    code = stack.carrier.code(phone)
    wrong = "000000" if code != "000000" else "111111"

    judged = [sender.verify(one, wrong).json() for one in (phone, f"8{bare}", f"007{bare}")]

    assert [answer["attempts_left"] for answer in judged] == [4, 3, 2]
    assert sender.verify(f"8 {bare[:3]} {bare[3:]}", code).status_code == 200


@each_channel
def test_code_and_link_share_a_message(stack: Stack, sender: Sender, channel: str) -> None:
    phone = stack.phone()

    sent = sender.send_code(phone, channel=channel, link=TARGET).json()

    message = stack.carrier.message(phone)
    assert message["links"] == [sent["short_url"]]
    assert sender.verify(phone, message["code"]).status_code == 200
    assert stack.ending(phone) == Outcome(["delivered"], charged=PRICES[channel], copies=1)
    found = follow(sent["short_url"])
    assert (found.status_code, found.headers["Location"]) == (302, TARGET)


def test_a_link_leads_nowhere_once_it_has_expired(stack: Stack, sender: Sender) -> None:
    sent = sender.send_code(stack.phone(), link=TARGET, link_expires_in=60).json()
    assert follow(sent["short_url"]).status_code == 302
    link = Link.objects.filter(slug=sent["short_url"].rpartition("/")[2])

    expire(link, "expires_at")
    resolution.invalidate_after_commit(*link)

    wait_until(lambda: follow(sent["short_url"]).status_code == 410)


@each_channel
def test_a_link_is_sent_where_the_text_wants_it(stack: Stack, sender: Sender, channel: str) -> None:
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
