"""The next channel, by real programs: after a refusal, after silence, and when nobody needs it."""

from datetime import timedelta

import requests
from django.db.models import F

from billing.models import Transfer
from channels.models import Attempt, Message
from links.judging import HASTE
from tests.stack.programs import until
from tests.stack.sender import Sender
from tests.stack.stack import TOKENS, Ending, Stack, expire

BROWSER = {"User-Agent": "Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/142.0"}


def falling_back(stack: Stack) -> Sender:
    return stack.sender(falls_back=True, fallback_chain=["whatsapp", "sms"])


def channels_of(phone: str) -> list[str]:
    (message,) = Message.objects.filter(phone=phone)
    return list(message.attempts.order_by("n").values_list("channel", flat=True))


def money_of(phone: str) -> list[tuple[str, int]]:
    (message,) = Message.objects.filter(phone=phone)
    return list(Transfer.objects.of_message(message.pk).values_list("kind", "amount"))


def had_time_to_read(phone: str) -> None:
    """Let the message have been handed over a while ago."""
    sent = Attempt.objects.filter(message__phone=phone, accepted_at__isnull=False)
    until(sent.exists)
    earlier = timedelta(seconds=2 * HASTE)
    sent.update(started_at=F("started_at") - earlier, accepted_at=F("accepted_at") - earlier)


def test_refusal_goes_by_sms_in_the_same_call(stack: Stack) -> None:
    sender, phone = falling_back(stack), stack.phone()
    stack.carrier.misbehave("unreachable", channel="whatsapp", phone=phone)

    answer = sender.send_code(phone)

    body = answer.json()
    assert (answer.status_code, body["channel"], body["cost"]) == (200, "sms", 16)
    assert sender.verify(phone, stack.carrier.code(phone)).status_code == 200
    assert stack.ending(phone) == Ending(["delivered"], charged=16, copies=1)
    assert channels_of(phone) == ["whatsapp", "sms"]
    assert sender.balance() == (TOKENS - 16, 0)


def test_silence_goes_on_by_sms_and_one_delivery_is_charged(stack: Stack) -> None:
    sender, phone = falling_back(stack), stack.phone()
    stack.carrier.misbehave("no_receipt", channel="whatsapp", phone=phone)

    assert sender.send_code(phone).json()["channel"] == "whatsapp"
    expire(Message.objects.filter(phone=phone), "fallback_at")

    until(lambda: channels_of(phone) == ["whatsapp", "sms"])
    assert stack.ending(phone) == Ending(["delivered"], charged=16, copies=2)
    assert money_of(phone) == [("hold", 1), ("release", 1), ("hold", 16), ("capture", 16)]
    assert sender.balance() == (TOKENS - 16, 0)


def test_click_proves_the_delivery_and_spares_the_sms(stack: Stack) -> None:
    sender, phone = falling_back(stack), stack.phone()
    stack.carrier.misbehave("no_receipt", channel="whatsapp", phone=phone)
    short_url = sender.send_link(phone, "https://example.com/").json()["short_url"]

    had_time_to_read(phone)
    requests.get(short_url, headers=BROWSER, allow_redirects=False, timeout=10)

    assert stack.ending(phone) == Ending(["delivered"], charged=1, copies=1)
    assert stack.proofs(phone) == ["click"]
    assert Message.objects.get(phone=phone).fallback_at is None
