"""The simulated Telegram Gateway."""

import time
from typing import Any

import pytest

from tests.tools.simulator.peers import ACCOUNT, Receiver, Simulator, get, post
from tests.tools.simulator.sends import GATEWAY, GATEWAY_VENDOR, send_gateway
from tools.simulator.telegram import gateway

TOKEN = ACCOUNT["TELEGRAM_GATEWAY_TOKEN"]


def call(simulator: Simulator, method: str, **given: Any) -> dict[str, Any]:
    response = post(f"{simulator.url}/telegram-gateway/{method}", json=given, headers=GATEWAY)
    body: dict[str, Any] = response.json()
    return body


def test_send_answers_with_the_request_status(simulator: Simulator, phone: str) -> None:
    body = send_gateway(simulator, phone).json()

    result = body["result"]
    assert body["ok"] is True
    assert (result["phone_number"], result["payload"]) == (phone, f"ref-{phone}")
    assert result["delivery_status"]["status"] == "sent"
    assert (result["request_cost"], result["is_refunded"]) == (0.01, False)
    assert simulator.messages(phone)[0]["code"] == "123456"


def test_reports_are_signed_and_carry_the_payload(
    simulator: Simulator, receiver: Receiver, phone: str
) -> None:
    send_gateway(simulator, phone)

    received = GATEWAY_VENDOR.receipts(receiver, phone, 2)

    assert [receipt.vendor_status for receipt in received] == ["sent", "delivered"]
    for receipt in received:
        timestamp = receipt.hook.headers["x-request-timestamp"]
        signed = gateway.signed(TOKEN, timestamp, receipt.hook.body)
        assert receipt.hook.headers["x-request-signature"] == signed
        assert abs(int(timestamp) - time.time()) < 5
        assert receipt.hook.json["payload"] == f"ref-{phone}"


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"phone_number": None}, "PHONE_NUMBER_INVALID"),
        ({"phone_number": "+0123"}, "PHONE_NUMBER_INVALID"),
        ({"phone_number": "79161234567"}, "PHONE_NUMBER_INVALID"),  # E.164 has a plus
        ({"code": "12a4"}, "CODE_INVALID"),
        ({"code": "123"}, "CODE_INVALID"),
        ({"code": "123456789"}, "CODE_INVALID"),
        ({"code": 123456}, "CODE_INVALID"),
        ({"code": None}, "CODE_LENGTH_REQUIRED"),
        ({"ttl": 29}, "TTL_INVALID"),
        ({"ttl": 3601}, "TTL_INVALID"),
        ({"ttl": "soon"}, "TTL_INVALID"),
        ({"payload": "я" * 65}, "PAYLOAD_INVALID"),
        ({"callback_url": "http://example.com/x"}, "CALLBACK_URL_INVALID"),
        ({"callback_url": "ftp://127.0.0.1/x"}, "CALLBACK_URL_INVALID"),
        ({"callback_url": "https://example.com/" + "x" * 256}, "CALLBACK_URL_INVALID"),
    ],
)
def test_malformed_send_is_refused(
    simulator: Simulator, phone: str, changed: dict[str, Any], error: str
) -> None:
    assert send_gateway(simulator, phone, **changed).json() == {"ok": False, "error": error}
    assert simulator.messages(phone) == []


def test_status_is_polled_and_codes_are_checked(
    simulator: Simulator, receiver: Receiver, phone: str
) -> None:
    number = send_gateway(simulator, phone).json()["result"]["request_id"]
    GATEWAY_VENDOR.receipts(receiver, phone, 2)

    plain = call(simulator, "checkVerificationStatus", request_id=number)["result"]
    statuses = [
        call(simulator, "checkVerificationStatus", request_id=number, code=code)["result"][
            "verification_status"
        ]["status"]
        for code in ["000000"] * 5 + ["123456"]
    ]
    unknown = call(simulator, "checkVerificationStatus", request_id="1")

    assert plain["delivery_status"]["status"] == "delivered"
    assert "verification_status" not in plain
    assert statuses == ["code_invalid"] * 5 + ["code_max_attempts_exceeded"]
    assert unknown == {"ok": False, "error": "REQUEST_ID_INVALID"}


def test_reported_code_is_shown(simulator: Simulator, phone: str) -> None:
    number = send_gateway(simulator, phone).json()["result"]["request_id"]
    call(simulator, "checkVerificationStatus", request_id=number)
    assert simulator.messages(phone)[0]["reported"] is None

    call(simulator, "checkVerificationStatus", request_id=number, code="123456")

    assert simulator.messages(phone)[0]["reported"] == "code_valid"
    page = get(f"{simulator.url}/?phone={phone}", headers={"Accept-Language": "en"}).text
    assert "code reported to the provider: code_valid" in page


def test_reading_sends_a_report(simulator: Simulator, receiver: Receiver, phone: str) -> None:
    send_gateway(simulator, phone)
    GATEWAY_VENDOR.receipts(receiver, phone, 2)
    number = simulator.messages(phone)[0]["id"]

    assert post(f"{simulator.url}/messages/{number}/read").status_code == 200

    assert GATEWAY_VENDOR.words(receiver, phone, 3) == ["sent", "delivered", "read"]
