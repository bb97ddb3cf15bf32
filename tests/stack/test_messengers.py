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


@pytest.mark.parametrize(
    ("fault_fields", "code"),
    [({"code": 131031}, "131031"), ({"template": "short_link"}, "template_paused")],
)
def test_account_alert_reaches_the_operator(
    stack: Stack, fault_fields: dict[str, object], code: str
) -> None:
    stack.carrier.send_account_alert(fault_fields)

    wait_until(lambda: ProviderAlert.objects.filter(provider="whatsapp_cloud", code=code).exists())
