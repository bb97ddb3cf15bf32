import time
from typing import Any

import pytest
import requests

from tests.tools.simulator.peers import Receiver, Simulator, eventually
from tests.tools.simulator.sends import SMSC, WHATSAPP


def script(simulator: Simulator, outcomes: Any) -> requests.Response:
    return requests.post(f"{simulator.url}/outcomes", json=outcomes, timeout=5)


def test_each_channel_of_a_number_has_its_own(simulator: Simulator, phone: str) -> None:
    own = {"whatsapp": {"outcome": "unreachable"}, "sms": {"outcome": "delivered"}}
    answer = script(simulator, {f"+{phone}": own})

    assert (answer.status_code, answer.json()) == (201, {"added": 2})
    assert WHATSAPP.send(simulator, phone).json()["error"]["code"] == 131026
    assert "error" not in SMSC.send(simulator, phone).json()
    eventually(lambda: simulator.state(phone) == "delivered")


def test_receipt_comes_when_the_phone_has_it(simulator: Simulator, phone: str) -> None:
    script(simulator, {phone: {"whatsapp": {"outcome": "delivered", "after_ms": 400}}})

    sent_at = time.monotonic()
    WHATSAPP.send(simulator, phone)
    eventually(lambda: simulator.state(phone) == "delivered")

    assert time.monotonic() - sent_at >= 0.4


@pytest.mark.parametrize("outcome", ["lost", "unproved"])
def test_vendor_never_hears_again(
    simulator: Simulator, receiver: Receiver, phone: str, outcome: str
) -> None:
    script(simulator, {phone: {"sms": {"outcome": outcome}}})

    SMSC.send(simulator, phone)
    (sent,) = receiver.wait(lambda hook: hook.form.get("phone") == phone)
    time.sleep(0.3)

    assert sent.form["status"] == "0"
    assert len(receiver.having(lambda hook: hook.form.get("phone") == phone)) == 1
    assert simulator.state(phone) == "sent"


def test_bar_is_told_by_a_receipt(simulator: Simulator, receiver: Receiver, phone: str) -> None:
    script(simulator, {phone: {"sms": {"outcome": "barred"}}})

    SMSC.send(simulator, phone)
    told = receiver.wait(lambda hook: hook.form.get("phone") == phone, many=2)

    assert [(one.form["status"], one.form["err"]) for one in told] == [("0", "0"), ("20", "252")]
