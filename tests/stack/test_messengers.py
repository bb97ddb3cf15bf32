"""WhatsApp and Telegram end to end, from the phone to the balance."""

import pytest

from channels.models import Contact, ProviderAlert, Receipt
from tests.stack.programs import wait_until
from tests.stack.sender import Sender
from tests.stack.stack import TOKENS, Outcome, Stack

URL = "https://example.com/"
BOT = "https://t.me/simulator_bot?start=contact"


def texts(stack: Stack, phone: str) -> list[str]:
    return [message["text"] for message in stack.carrier.messages(phone)]


def test_person_stops_the_bot_and_starts_it_again(stack: Stack, sender: Sender) -> None:
    phone = stack.phone()
    stack.carrier.act_on_bot(phone, "share")
    wait_until(lambda: Contact.objects.filter(phone=phone).exists())

    stack.carrier.act_on_bot(phone, "stop")
    wait_until(lambda: any("/start" in text for text in texts(stack, phone)))
    stopped = sender.send_link(phone, URL, channel="telegram")
    stack.carrier.act_on_bot(phone, "start")
    wait_until(lambda: Contact.objects.get(phone=phone).blocked_at is None)
    started = sender.send_link(phone, URL, channel="telegram")

    assert (stopped.status_code, stopped.json()["action_url"]) == (422, BOT)
    assert started.status_code == 200
    assert sender.balance() == (TOKENS - 1, 0)


def test_code_still_reaches_a_person_who_stopped_the_bot(stack: Stack, sender: Sender) -> None:
    phone = stack.phone()
    stack.carrier.act_on_bot(phone, "stop")
    wait_until(lambda: Contact.objects.filter(phone=phone, blocked_at__isnull=False).exists())

    sender.send_code(phone, channel="telegram")

    assert sender.verify(phone, stack.carrier.code(phone)).status_code == 200


def test_who_blocked_the_bot_is_not_tried_twice(stack: Stack, sender: Sender) -> None:
    phone = stack.phone()
    stack.carrier.act_on_bot(phone, "share")
    wait_until(lambda: Contact.objects.filter(phone=phone).exists())
    stack.carrier.act_on_bot(phone, "block")
    wait_until(lambda: Contact.objects.get(phone=phone).blocked_at is not None)

    answers = [sender.send_link(phone, URL, channel="telegram") for _ in range(2)]

    assert [answer.json()["action_url"] for answer in answers] == [BOT, BOT]
    assert sender.balance() == (TOKENS, 0)


@pytest.mark.parametrize(
    ("fault", "kept"),
    [
        ("read_at_once", 1),  # read implies delivered
        ("batched_receipts", 1),  # one call: delivered, sent, and delivered once more
    ],
)
def test_whatsapp_reports_failure_in_its_format(
    stack: Stack, sender: Sender, fault: str, kept: int
) -> None:
    phone = stack.phone()
    stack.carrier.set_fault(fault, phone=phone, channel="whatsapp")

    sender.send_code(phone, channel="whatsapp")

    assert stack.ending(phone) == Outcome(["delivered"], charged=1, copies=1)
    assert stack.proofs(phone) == ["receipt"]
    stored = Receipt.objects.filter(attempt__message__phone=phone).exclude(state="sent")
    wait_until(lambda: stored.count() == kept)  # evaluated again each time


def test_held_template_reaches_the_operator_and_costs_nothing_when_dropped(
    stack: Stack, sender: Sender
) -> None:
    phone = stack.phone()
    stack.carrier.set_fault("held", phone=phone)
    stack.carrier.set_fault("undelivered", phone=phone)

    sender.send_link(phone, URL, channel="whatsapp")

    assert stack.ending(phone) == Outcome(["failed"], charged=0, copies=1)
    assert sender.balance() == (TOKENS, 0)
    wait_until(lambda: ProviderAlert.objects.filter(code="held_for_quality_assessment").exists())


@pytest.mark.parametrize(
    ("fault_fields", "code"),
    [({"code": 131031}, "131031"), ({"template": "short_link"}, "template_paused")],
)
def test_account_alert_reaches_the_operator(
    stack: Stack, fault_fields: dict[str, object], code: str
) -> None:
    stack.carrier.send_account_alert(fault_fields)

    wait_until(lambda: ProviderAlert.objects.filter(provider="whatsapp_cloud", code=code).exists())
