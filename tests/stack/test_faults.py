from concurrent.futures import ThreadPoolExecutor
from typing import Any

import requests

from channels.models import Attempt, Message
from tests.stack.sender import Sender
from tests.stack.stack import PROVIDER_READ, TOKENS, Outcome, Stack, expire

CHANNELS = ["whatsapp", "telegram", "sms"]
PRICE_OF_ALL = 1 + 1 + 16


def refusal(answer: requests.Response) -> tuple[int, str]:
    body: dict[str, Any] = answer.json()
    return answer.status_code, body["code"]


def test_unreachable_is_reported_at_once(stack: Stack, sender: Sender) -> None:
    phone = stack.phone()
    for channel in ("whatsapp", "telegram"):
        stack.carrier.set_fault("unreachable", channel=channel, phone=phone)

    first = sender.send_code(phone, channel="whatsapp")
    second = sender.send_code(phone, channel="telegram")
    assert sender.balance() == (TOKENS, 0)
    third = sender.send_code(phone, channel="sms")

    assert [refusal(first), refusal(second)] == [(422, "recipient_unreachable")] * 2
    assert third.status_code == 200
    assert sender.verify(phone, stack.carrier.code(phone)).status_code == 200
    assert stack.ending(phone) == Outcome(["failed", "failed", "delivered"], charged=16, copies=1)
    assert sender.balance() == (TOKENS - 16, 0)


def test_a_throttled_message_is_delivered_a_little_later(stack: Stack, sender: Sender) -> None:
    phones = stack.phones(3)
    for phone in phones:
        stack.carrier.set_fault("throttle", phone=phone, times=1)
    telegram = phones[CHANNELS.index("telegram")]
    stack.carrier.set_fault("throttle", provider="telegram_bot", phone=telegram, times=1)

    answers = [
        sender.send_code(phone, channel=channel)
        for phone, channel in zip(phones, CHANNELS, strict=True)
    ]

    # How far each has come by the time of its answer is a matter of a pause of a second.
    assert [answer.status_code for answer in answers] == [200] * 3
    assert stack.endings(phones) == [
        Outcome(["delivered"], charged=price, copies=1) for price in (1, 1, 16)
    ]
    tries = {"telegram": ["failed", "failed", "delivered"]}  # the bot could have carried it
    assert [_states_of_attempts(phone) for phone in phones] == [
        tries.get(channel, ["failed", "delivered"]) for channel in CHANNELS
    ]


def test_silence_after_the_request_leaves_a_message_to_its_receipt(
    stack: Stack, sender: Sender, threads: ThreadPoolExecutor
) -> None:
    phones = stack.phones(6)
    for phone, fault in zip(phones, ["hang"] * 3 + ["reset"] * 3, strict=True):
        stack.carrier.set_fault(fault, phone=phone)
    stack.carrier.set_fault("late_receipt", latency_ms=int(PROVIDER_READ * 1000) + 1000)

    sending = [
        threads.submit(sender.send_code, phone, channel=channel)
        for phone, channel in zip(phones, CHANNELS * 2, strict=True)
    ]
    answers = [item.result() for item in sending]

    assert [answer.json()["status"] for answer in answers] == ["queued"] * 6
    assert [_only_attempt(phone).state for phone in phones[:3]] == ["submitting"] * 3
    assert sender.balance() == (TOKENS - 2 * PRICE_OF_ALL, 2 * PRICE_OF_ALL)
    assert stack.endings(phones) == [
        Outcome(["delivered"], charged=price, copies=1) for price in (1, 1, 16, 1, 1, 16)
    ]
    attempts = [_only_attempt(phone) for phone in phones]
    assert [attempt.error_class for attempt in attempts] == ["ambiguous"] * 6


def test_unreported_delivery_ends_at_deadline_free_of_charge(stack: Stack, sender: Sender) -> None:
    phone = stack.phone()
    stack.carrier.set_fault("reset", phone=phone)

    sent = sender.send_link(phone, "https://example.com/", channel="telegram").json()
    assert sent["status"] == "queued"
    assert _only_attempt(phone).state == "ambiguous"
    expire(Message.objects.filter(phone=phone), "deadline")

    assert stack.ending(phone) == Outcome(["expired"], charged=0, copies=1)
    assert sender.balance() == (TOKENS, 0)


def _states_of_attempts(phone: str) -> list[str]:
    tried = Attempt.objects.filter(message__phone=phone).order_by("n")
    return list(tried.values_list("state", flat=True))


def _only_attempt(phone: str) -> Attempt:
    return Attempt.objects.get(message__phone=phone)
