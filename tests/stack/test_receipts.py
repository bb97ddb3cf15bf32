"""Receipts that come too early, and receipts that never come."""

from functools import partial

import pytest

from channels.models import Attempt
from tests.stack.programs import wait_until
from tests.stack.sender import Sender
from tests.stack.stack import Outcome, Stack, expire

PRICES = {"whatsapp": 1, "telegram": 1, "sms": 16}


def test_receipt_before_our_own_commit_is_not_lost(stack: Stack, sender: Sender) -> None:
    phones = stack.phones(3)
    silences = _silences(stack)
    expected = [Outcome(["delivered"], charged=price, copies=1) for price in PRICES.values()]
    stack.carrier.set_fault("hang", latency_ms=200)

    for number, (phone, channel) in enumerate(zip(phones, PRICES, strict=True)):
        response = sender.send_code(phone, channel=channel).json()
        assert response["status"] in {"sent", "delivered"}
        assert stack.ending(phone) == expected[number]
        assert _silences(stack) == silences + number  # this call is still open
        wait_until(partial(_has_silences, stack, silences + number + 1))
    assert stack.endings(phones) == expected


@pytest.mark.parametrize("channel", ["telegram", "sms"])
def test_lost_receipt_is_found_by_asking(stack: Stack, sender: Sender, channel: str) -> None:
    phone = stack.phone()
    stack.carrier.set_fault("no_receipt", phone=phone)
    sender.send_code(phone, channel=channel)

    expire(Attempt.objects.filter(message__phone=phone), "poll_at")

    assert stack.ending(phone) == Outcome(["delivered"], charged=PRICES[channel], copies=1)
    assert stack.proofs(phone) == ["receipt"]


def _has_silences(stack: Stack, number: int) -> bool:
    return _silences(stack) == number


def _silences(stack: Stack) -> int:
    """The number of calls to vendors that ended without an answer."""
    return stack.worker.log_since_start().count("AmbiguousError")
