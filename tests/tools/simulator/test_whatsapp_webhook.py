"""Further calls of Meta's webhook: read without delivered, batches, account events."""

import re
import time
from typing import Any

import pytest
from pywa.utils import webhook_updates_validator

from tests.tools.simulator.peers import ACCOUNT, Hook, Receiver, Simulator, post
from tests.tools.simulator.sends import GATEWAY_VENDOR, TWILIO, WHATSAPP, Vendor, send_whatsapp


def change(hook: Hook) -> dict[str, Any]:
    """The one change of a call that a foreign validator believes."""
    signature = hook.headers["x-hub-signature-256"]
    assert webhook_updates_validator(ACCOUNT["WHATSAPP_APP_SECRET"], hook.body, signature)
    (entry,) = hook.json["entry"]
    (result,) = entry["changes"]
    return dict(result)


@pytest.mark.parametrize(
    ("vendor", "text"),
    [
        (WHATSAPP, ["sent", "read"]),
        (GATEWAY_VENDOR, ["sent", "read"]),
        (TWILIO, ["sent", "delivered"]),
    ],
)
def test_read_comes_without_delivered(
    simulator: Simulator, receiver: Receiver, phone: str, vendor: Vendor, text: list[str]
) -> None:
    simulator.set_fault(phone=phone, kind="read_at_once")

    vendor.send(simulator, phone)

    assert vendor.words(receiver, phone, 2) == text


def test_batched_statuses_repeat_and_reorder(
    simulator: Simulator, receiver: Receiver, phone: str
) -> None:
    simulator.set_fault(phone=phone, kind="batched_receipts")

    wamid = send_whatsapp(simulator, phone).json()["messages"][0]["id"]

    (hook,) = receiver.wait(lambda hook: wamid.encode() in hook.body)
    statuses = change(hook)["value"]["statuses"]
    assert [status["status"] for status in statuses] == ["delivered", "sent", "delivered"]
    assert {status["id"] for status in statuses} == {wamid}
    assert simulator.state(phone) == "delivered"


def test_held_message_is_shown_as_held(simulator: Simulator, phone: str) -> None:
    simulator.set_fault(phone=phone, kind="held", times=1)

    held, taken = (send_whatsapp(simulator, phone).json()["messages"][0] for _ in range(2))

    assert held["message_status"] == "held_for_quality_assessment"
    assert taken["message_status"] == "accepted"


def test_template_is_lost(simulator: Simulator, receiver: Receiver) -> None:
    value = {"event": "DISABLED", "message_template_name": "short_link"}
    lost = {"field": "message_template_status_update", "value": value}

    assert post(f"{simulator.url}/alerts", json=lost).status_code == 201

    (hook,) = receiver.wait(lambda hook: b"DISABLED" in hook.body)
    received = change(hook)
    assert received["field"] == "message_template_status_update"
    assert received["value"] == value
    (entry,) = hook.json["entry"]
    assert abs(entry["time"] - time.time()) < 60


BSUID = re.compile(r"[A-Z]{2}\.[A-Za-z0-9]{1,128}")


def test_person_has_a_user_id_of_metas_beside_the_phone(
    simulator: Simulator, receiver: Receiver, phone: str
) -> None:
    sent = send_whatsapp(simulator, phone).json()
    wamid = sent["messages"][0]["id"]
    (hook,) = receiver.wait(
        lambda hook: b'"delivered"' in hook.body and wamid.encode() in hook.body
    )
    post(f"{simulator.url}/messages/{simulator.messages(phone)[0]['id']}/reply", json={})
    (reply,) = receiver.wait(
        lambda hook: b'"from_user_id"' in hook.body and phone.encode() in hook.body
    )

    received = change(hook)["value"]
    posted = change(reply)["value"]
    user_id = received["contacts"][0]["user_id"]
    assert BSUID.fullmatch(user_id)
    assert phone not in user_id
    assert received["contacts"][0]["wa_id"] == phone
    assert received["statuses"][0]["recipient_user_id"] == user_id
    assert posted["contacts"][0]["user_id"] == posted["messages"][0]["from_user_id"] == user_id
    assert "user_id" not in sent["contacts"][0]  # given there only for messages sent to one
    assert "time" not in hook.json["entry"][0]
