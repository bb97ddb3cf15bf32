"""STOP on any channel blocks a person on all of them until START."""

import pytest

from channels.models import BlockedPhone
from tests.stack.programs import wait_until
from tests.stack.sender import Sender
from tests.stack.stack import TOKENS, Stack


@pytest.mark.parametrize("channel", ["whatsapp", "sms"])
def test_stop_unsubscribes_and_start_resubscribes(
    stack: Stack, sender: Sender, channel: str
) -> None:
    phone = stack.phone()
    other = stack.sender()
    blocked = BlockedPhone.objects.filter(phone=f"+{phone.lstrip('+')}")
    assert sender.send_code(phone, channel=channel).status_code == 200
    wait_until(lambda: bool(stack.carrier.messages(phone)))

    stack.carrier.reply(phone, "Стоп")
    wait_until(blocked.exists)
    refused = other.send_code(phone)
    stack.carrier.reply(phone, "START")
    wait_until(lambda: not blocked.exists())

    assert (refused.status_code, refused.json()["code"]) == (422, "recipient_unreachable")
    assert other.balance() == (TOKENS, 0)
    assert other.send_code(phone).status_code == 200
