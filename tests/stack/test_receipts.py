from functools import partial

import pytest

from channels.models import Attempt, Message, Receipt
from tests.stack.programs import wait_until
from tests.stack.sender import Sender
from tests.stack.stack import TOKENS, Outcome, Stack, expire

PRICES = {"whatsapp": 1, "telegram": 1, "sms": 16}


def test_a_receipt_before_our_own_commit_is_not_lost(stack: Stack, sender: Sender) -> None:
    phones, silences = stack.phones(3), _silences(stack)
    expected = [Outcome(["delivered"], charged=price, copies=1) for price in PRICES.values()]
    stack.carrier.set_fault("hang", latency_ms=200)

    for number, (phone, channel) in enumerate(zip(phones, PRICES, strict=True)):
        answer = sender.send_code(phone, channel=channel).json()
        assert answer["status"] in {"sent", "delivered"}
        assert stack.ending(phone) == expected[number]
        assert _silences(stack) == silences + number  # this call is still open
        wait_until(partial(_has_silences, stack, silences + number + 1))
    assert stack.endings(phones) == expected


@pytest.mark.parametrize(
    ("channel", "fault", "kept"),
    [
        ("whatsapp", "duplicate_receipt", 2),  # each repeat has a time of its own
        ("telegram", "duplicate_receipt", 2),
        ("sms", "duplicate_receipt", 1),
        ("whatsapp", "reorder_receipts", 1),
        ("telegram", "reorder_receipts", 1),
        ("sms", "reorder_receipts", 1),
    ],
)
def test_repeated_and_reordered_receipts_charge_once(
    stack: Stack, sender: Sender, channel: str, fault: str, kept: int
) -> None:
    phone, expected = stack.phone(), Outcome(["delivered"], charged=PRICES[channel], copies=1)
    stack.carrier.set_fault(fault, phone=phone)

    sender.send_code(phone, channel=channel)

    assert stack.ending(phone) == expected
    wait_until(lambda: _receipts(phone) == kept)
    assert stack.ending(phone) == expected
    assert sender.balance() == (TOKENS - PRICES[channel], 0)


def test_without_a_receipt_the_correct_code_proves_the_delivery_once(
    stack: Stack, sender: Sender
) -> None:
    phone = stack.phone()
    stack.carrier.set_fault("no_receipt", phone=phone)
    sender.send_code(phone, channel="whatsapp")
    assert sender.balance() == (TOKENS - 1, 1)

    assert sender.verify(phone, stack.carrier.code(phone)).status_code == 200

    assert stack.ending(phone) == Outcome(["delivered"], charged=1, copies=1)
    assert stack.proofs(phone) == ["code_entered"]
    assert sender.balance() == (TOKENS - 1, 0)


def test_a_delivery_reported_after_the_deadline_is_shown_and_free(
    stack: Stack, sender: Sender
) -> None:
    phone = stack.phone()
    stack.carrier.set_fault("late_receipt", phone=phone, latency_ms=2500)
    sender.send_code(phone, channel="whatsapp")
    expire(Message.objects.filter(phone=phone), "deadline")
    assert stack.ending(phone) == Outcome(["expired"], charged=0, copies=1)
    assert sender.balance() == (TOKENS, 0)

    wait_until(lambda: stack.state(phone) == "delivered")

    assert stack.ending(phone) == Outcome(["delivered"], charged=0, copies=1)
    assert sender.balance() == (TOKENS, 0)


@pytest.mark.parametrize("channel", ["telegram", "sms"])
def test_a_lost_receipt_is_found_by_asking(stack: Stack, sender: Sender, channel: str) -> None:
    phone = stack.phone()
    stack.carrier.set_fault("no_receipt", phone=phone)
    sender.send_code(phone, channel=channel)

    expire(Attempt.objects.filter(message__phone=phone), "poll_at")

    assert stack.ending(phone) == Outcome(["delivered"], charged=PRICES[channel], copies=1)
    assert stack.proofs(phone) == ["receipt"]


def test_undelivered_message_fails_free_of_charge(stack: Stack, sender: Sender) -> None:
    phones = dict(zip(PRICES, stack.phones(3), strict=True))
    stack.carrier.set_fault("undelivered")

    for channel, phone in phones.items():
        sender.send_code(phone, channel=channel)

    endings = {item: stack.ending(phone) for item, phone in phones.items()}
    failed = Outcome(["failed"], charged=0, copies=1)
    expired = Outcome(["expired"], charged=0, copies=1)  # as Telegram words it
    assert endings == {"whatsapp": failed, "telegram": expired, "sms": failed}
    assert sender.balance() == (TOKENS, 0)


def _receipts(phone: str) -> int:
    """The number of different receipts of a delivery that came and were applied. A *sent* is stored
    only while its attempt lacks it.
    """
    known = Receipt.objects.filter(attempt__message__phone=phone, applied_at__isnull=False)
    return known.exclude(state="sent").count()


def _has_silences(stack: Stack, number: int) -> bool:
    return _silences(stack) == number


def _silences(stack: Stack) -> int:
    """The number of calls to vendors that ended without an answer."""
    return stack.worker.log_since_start().count("AmbiguousError")
