"""Faults of the simulator: what the vendor does, and which messages a fault meets."""

import time
from typing import Any

import pytest
import requests

from tests.tools.simulator.peers import Receiver, Simulator, eventually, get, post
from tests.tools.simulator.sends import (
    ALL,
    BOT,
    GATEWAY_VENDOR,
    MAX,
    SMSC,
    TWILIO,
    WHATSAPP,
    WITH_RECEIPTS,
    Vendor,
    send_whatsapp,
)


def named(vendor: Vendor) -> str:
    return vendor.name


each_vendor = pytest.mark.parametrize("vendor", ALL, ids=named)
each_with_receipts = pytest.mark.parametrize("vendor", WITH_RECEIPTS, ids=named)


def refusal(vendor: Vendor, response: requests.Response) -> tuple[int, Any]:
    body = response.json()
    text = {
        WHATSAPP.name: lambda: body["error"]["code"],
        GATEWAY_VENDOR.name: lambda: body["error"],
        BOT.name: lambda: body["description"],
        MAX.name: lambda: body["code"],
        TWILIO.name: lambda: body["code"],
        SMSC.name: lambda: body["error_code"],
    }
    return response.status_code, text[vendor.name]()


@pytest.mark.parametrize(
    ("vendor", "kind", "expected"),
    [
        (WHATSAPP, "unreachable", (400, 131026)),
        (WHATSAPP, "refuse", (400, 131009)),
        (WHATSAPP, "account", (400, 131042)),
        (WHATSAPP, "throttle", (429, 130429)),
        (GATEWAY_VENDOR, "unreachable", (200, "PHONE_NUMBER_NOT_AVAILABLE")),
        (GATEWAY_VENDOR, "refuse", (200, "CODE_INVALID")),
        (GATEWAY_VENDOR, "account", (200, "BALANCE_NOT_ENOUGH")),
        (GATEWAY_VENDOR, "throttle", (200, "FLOOD_WAIT_1")),
        (BOT, "unreachable", (403, "Forbidden: bot can't initiate conversation with a user")),
        (BOT, "refuse", (400, "Bad Request: BUTTON_URL_INVALID")),
        (BOT, "account", (401, "Unauthorized")),
        (BOT, "throttle", (429, "Too Many Requests: retry after 1")),
        (MAX, "unreachable", (403, "chat.denied")),
        (MAX, "refuse", (400, "proto.payload")),
        (MAX, "account", (401, "verify.token")),
        (MAX, "throttle", (429, "too.many.requests")),
        (TWILIO, "unreachable", (400, 21614)),
        (TWILIO, "refuse", (400, 21617)),
        (TWILIO, "account", (400, 21606)),
        (TWILIO, "throttle", (429, 20429)),
        (SMSC, "unreachable", (200, 8)),
        (SMSC, "refuse", (200, 6)),
        (SMSC, "throttle", (200, 9)),
    ],
)
def test_refusal_is_the_vendors_own_and_nothing_arrives(
    simulator: Simulator, phone: str, *, vendor: Vendor, kind: str, expected: tuple[int, Any]
) -> None:
    simulator.set_fault(channel=vendor.channel, phone=phone, kind=kind)

    assert refusal(vendor, vendor.send(simulator, phone)) == expected
    assert simulator.messages(phone) == []


@each_vendor
@pytest.mark.parametrize("kind", ["hang", "reset", "server_error"])
def test_message_is_accepted_though_its_response_is_lost(
    simulator: Simulator, receiver: Receiver, phone: str, *, vendor: Vendor, kind: str
) -> None:
    simulator.set_fault(phone=phone, kind=kind, times=1)

    if kind == "server_error":
        response = vendor.send(simulator, phone)
        assert (response.status_code, response.text[:6]) == (502, "<html>")
    else:
        broken = requests.ReadTimeout if kind == "hang" else requests.ConnectionError
        with pytest.raises(broken):
            vendor.send(simulator, phone, timeout=0.1 if kind == "hang" else 5)

    eventually(lambda: len(simulator.messages(phone)) == 1)
    if vendor in WITH_RECEIPTS:
        assert vendor.words(receiver, phone, 2) == ["sent", "delivered"]


@each_vendor
def test_lost_send_is_reset_and_not_delivered(
    simulator: Simulator, phone: str, vendor: Vendor
) -> None:
    simulator.set_fault(phone=phone, kind="lost", times=1)
    simulator.set_fault(phone=phone, kind="no_receipt")

    with pytest.raises(requests.ConnectionError, match="reset by peer"):
        vendor.send(simulator, phone)

    assert simulator.messages(phone) == []


@each_with_receipts
def test_lost_receipts_leave_the_message_delivered(
    simulator: Simulator, receiver: Receiver, phone: str, vendor: Vendor
) -> None:
    simulator.set_fault(phone=phone, kind="no_receipt", times=1)

    vendor.send(simulator, phone)
    eventually(lambda: simulator.state(phone) == "delivered")
    vendor.send(simulator, phone)

    # The second message's receipts are the only ones that come.
    received = vendor.receipts(receiver, phone, 2)
    assert [receipt.vendor_status for receipt in received] == ["sent", "delivered"]


@each_with_receipts
def test_duplicate_receipts_are_events_of_their_own(
    simulator: Simulator, receiver: Receiver, phone: str, vendor: Vendor
) -> None:
    simulator.set_fault(phone=phone, kind="duplicate_receipt")

    vendor.send(simulator, phone)

    received = vendor.receipts(receiver, phone, 4)
    assert [receipt.vendor_status for receipt in received] == [
        "sent",
        "sent",
        "delivered",
        "delivered",
    ]
    assert len({receipt.hook.body for receipt in received}) == 4


@each_with_receipts
def test_reordered_receipts_begin_with_the_delivery(
    simulator: Simulator, receiver: Receiver, phone: str, vendor: Vendor
) -> None:
    simulator.set_fault(phone=phone, kind="reorder_receipts")

    vendor.send(simulator, phone)

    assert vendor.words(receiver, phone, 2) == ["delivered", "sent"]
    assert simulator.state(phone) == "delivered"


@each_with_receipts
def test_undelivered_message_is_reported_afterwards(
    simulator: Simulator, receiver: Receiver, phone: str, vendor: Vendor
) -> None:
    simulator.set_fault(phone=phone, kind="undelivered")

    vendor.send(simulator, phone)

    assert vendor.words(receiver, phone, 2) == ["sent", vendor.undelivered]
    assert simulator.state(phone) == "failed"


@each_with_receipts
def test_contradictory_receipts_are_sent_in_either_order(
    simulator: Simulator, receiver: Receiver, phone: str, vendor: Vendor
) -> None:
    other = str(int(phone) + 10_000_000)
    simulator.set_fault(phone=phone, kind="failed_after_delivered")
    simulator.set_fault(phone=other, kind="delivered_after_failed")

    vendor.send(simulator, phone)
    vendor.send(simulator, other)

    assert vendor.words(receiver, phone, 3) == ["sent", "delivered", vendor.undelivered]
    assert vendor.words(receiver, other, 3) == ["sent", vendor.undelivered, "delivered"]
    assert [simulator.state(number) for number in (phone, other)] == ["delivered", "delivered"]


def test_times_count_matching_sends_only(simulator: Simulator, phone: str) -> None:
    simulator.set_fault(phone=f"+{phone[:4]} {phone[4:]}", kind="refuse", times=2)
    other = str(int(phone) + 10_000_000)

    responses = [
        send_whatsapp(simulator, number).status_code for number in (other, phone, phone, phone)
    ]

    assert responses == [200, 400, 400, 200]
    assert get(f"{simulator.url}/faults").json() == []


def test_provider_narrows_a_fault(simulator: Simulator, phone: str) -> None:
    simulator.set_fault(provider="twilio", phone=phone, kind="unreachable")
    simulator.set_fault(provider="telegram_bot", phone=phone, kind="unreachable")

    for vendor in ALL:
        vendor.send(simulator, phone)

    reached = {message["provider"] for message in simulator.messages(phone)}
    assert reached == {vendor.name for vendor in ALL} - {"twilio", "telegram_bot"}


def test_fault_is_returned_listed_and_deleted(simulator: Simulator, phone: str) -> None:
    wanted: dict[str, Any] = {
        "channel": "sms",
        "provider": "smsc",
        "phone": f"+{phone}",
        "kind": "hang",
    }
    wanted |= {"latency_ms": 5, "times": 3}

    made = post(f"{simulator.url}/faults", json=wanted)

    assert made.status_code == 201
    assert made.json() == wanted | {"phone": phone, "id": made.json()["id"]}
    assert get(f"{simulator.url}/faults").json() == [made.json()]
    gone = requests.delete(f"{simulator.url}/faults/{made.json()['id']}", timeout=5)
    again = requests.delete(f"{simulator.url}/faults/{made.json()['id']}", timeout=5)
    assert (gone.status_code, again.status_code) == (200, 404)
    assert get(f"{simulator.url}/faults").json() == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "kind"),
        ({"kind": "explode"}, "kind"),
        ({"kind": ["hang"]}, "kind"),
        ({"kind": "hang", "channel": "pigeon"}, "channel"),
        ({"kind": "hang", "provider": "pigeons"}, "provider"),
        ({"kind": "hang", "phone": "123"}, "phone"),
        ({"kind": "hang", "phone": 77010000001}, "phone"),
        ({"kind": "hang", "latency_ms": -1}, "latency_ms"),
        ({"kind": "hang", "latency_ms": "5"}, "latency_ms"),
        ({"kind": "hang", "latency_ms": True}, "latency_ms"),
        ({"kind": "hang", "times": 0}, "times"),
        ({"kind": "hang", "latency": 5}, "latency"),
        (["hang"], "body"),
    ],
)
def test_bad_fault_is_refused_by_field(simulator: Simulator, body: object, field: str) -> None:
    response = post(f"{simulator.url}/faults", json=body)

    assert response.status_code == 400
    assert list(response.json()["errors"]) == [field]


def script(simulator: Simulator, outcomes: Any) -> requests.Response:
    return requests.post(f"{simulator.url}/outcomes", json=outcomes, timeout=5)


def test_each_channel_of_a_number_has_its_own(simulator: Simulator, phone: str) -> None:
    own = {"whatsapp": {"outcome": "unreachable"}, "sms": {"outcome": "delivered"}}
    response = script(simulator, {f"+{phone}": own})

    assert (response.status_code, response.json()) == (201, {"added": 2})
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
def test_message_without_a_final_receipt_stays_sent(
    simulator: Simulator, receiver: Receiver, phone: str, outcome: str
) -> None:
    script(simulator, {phone: {"sms": {"outcome": outcome}}})

    SMSC.send(simulator, phone)
    (sent,) = receiver.wait(lambda hook: hook.form.get("phone") == phone)
    time.sleep(0.3)

    assert sent.form["status"] == "0"
    assert len(receiver.having(lambda hook: hook.form.get("phone") == phone)) == 1
    assert simulator.state(phone) == "sent"


def test_receipt_reports_a_barred_phone(
    simulator: Simulator, receiver: Receiver, phone: str
) -> None:
    script(simulator, {phone: {"sms": {"outcome": "barred"}}})

    SMSC.send(simulator, phone)
    told = receiver.wait(lambda hook: hook.form.get("phone") == phone, count=2)

    assert [(hook.form["status"], hook.form["err"]) for hook in told] == [("0", "0"), ("20", "252")]
