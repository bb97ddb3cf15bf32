"""Telegram Gateway: codes, their reports and the account's balance."""

from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
import responses
import time_machine

from channels.providers.base import (
    Accepted,
    AmbiguousError,
    Outgoing,
    RefusedError,
    SendError,
    ThrottledError,
    TransientError,
    UnreachableError,
)
from channels.providers.inbound import AlertKind, InvalidWebhookError, Receipt, ReceiptState
from tests.channels.providers.vendors import (
    VENDORS,
    body_of,
    gateway,
    gateway_call,
    message,
    payload,
)

URL = VENDORS["telegram_gateway"].send_url
REPORT = payload("telegram_gateway", "report_delivered_2026-09.json")


def sent_body(wire: responses.RequestsMock, outgoing: Outgoing) -> dict[str, Any]:
    wire.post(URL, body=VENDORS["telegram_gateway"].accepted)
    assert gateway().send(outgoing) == Accepted("187259537046478")
    body: dict[str, Any] = orjson.loads(body_of(wire.calls[0].request))
    return body


def refused(wire: responses.RequestsMock, body: bytes, status: int = 200) -> SendError:
    wire.post(URL, body=body, status=status)
    with pytest.raises(SendError) as caught:
        gateway().send(message())
    return caught.value


def test_sends_the_code_with_everything_a_refund_needs(wire: responses.RequestsMock) -> None:
    assert sent_body(wire, message()) == {
        "phone_number": "+998901234567",
        "code": "482915",
        "ttl": 300,
        "payload": "att-1",
        "callback_url": "https://kvitok.example.com/hooks/telegram-gateway",
    }
    assert wire.calls[0].request.headers["Authorization"] == "Bearer AAEgateway-secret-token"


@pytest.mark.parametrize(("ttl", "kept"), [(-5, 30), (29, 30), (31, 31), (9**9, 3600)])
def test_ttl_stays_within_telegrams_range(
    wire: responses.RequestsMock, ttl: int, kept: int
) -> None:
    assert sent_body(wire, message(ttl=ttl))["ttl"] == kept


@pytest.mark.parametrize(
    ("balance", "expected"),
    [(0.99, "< 1"), (1.0, "< 5"), (4.99, "< 5"), (5.0, ""), ("1", ""), (None, ""), (True, "")],
)
def test_low_balance_is_reported_by_steps(
    wire: responses.RequestsMock, balance: object, expected: str
) -> None:
    result = {"request_id": "1", "remaining_balance": balance}
    wire.post(URL, json={"ok": True, "result": result})

    alert = gateway().send(message()).alert

    assert (alert.detail if alert else "") == expected
    assert alert is None or (alert.code, alert.kind) == ("balance_low", AlertKind.WARNING)


def test_acceptance_may_have_no_id(wire: responses.RequestsMock) -> None:
    wire.post(URL, body=b'{"ok":true}')

    assert gateway().send(message()) == Accepted(None)


CONFIG = [
    "ACCESS_TOKEN_INVALID",
    "ACCESS_TOKEN_REQUIRED",
    "BALANCE_NOT_ENOUGH",
    "CALLBACK_URL_INVALID",
    "SENDER_NOT_OWNED",
    "SENDER_NOT_VERIFIED",
    "SENDER_USERNAME_INVALID",
    "UNKNOWN_METHOD",
]
CONTENT = [
    "CODE_INVALID",
    "CODE_LENGTH_INVALID",
    "CODE_LENGTH_REQUIRED",
    "PAYLOAD_INVALID",
    "PHONE_NUMBER_MISMATCH",
    "REQUEST_ID_INVALID",
    "REQUEST_ID_REQUIRED",
    "TTL_INVALID",
]
RECIPIENT = ["PHONE_NUMBER_INVALID", "PHONE_NUMBER_NOT_FOUND", "PHONE_NUMBER_NOT_AVAILABLE"]


@pytest.mark.parametrize(
    ("name", "kind", "account"),
    [
        *((name, UnreachableError, False) for name in RECIPIENT),
        *((name, RefusedError, True) for name in CONFIG),
        *((name, RefusedError, False) for name in CONTENT),
        ("MESSAGE_ALREADY_SENT", AmbiguousError, False),
    ],
)
@pytest.mark.parametrize("status", [200, 400, 500])
def test_every_known_error_has_its_class_whatever_the_status(
    wire: responses.RequestsMock, name: str, kind: type[SendError], account: bool, status: int
) -> None:
    error = refused(wire, orjson.dumps({"ok": False, "error": name}), status)

    assert (type(error), error.code, error.account) == (kind, name, account)


@pytest.mark.parametrize(
    ("file", "kind", "code"),
    [
        ("error_token_invalid_2026-09.json", RefusedError, "ACCESS_TOKEN_INVALID"),
        ("error_not_available_2026-09.json", UnreachableError, "PHONE_NUMBER_NOT_AVAILABLE"),
        ("error_flood_wait_2026-09.json", ThrottledError, "FLOOD_WAIT"),
    ],
)
def test_gateway_error_codes_are_classified(
    wire: responses.RequestsMock, file: str, kind: type[SendError], code: str
) -> None:
    error = refused(wire, payload("telegram_gateway", file))

    assert (type(error), error.code) == (kind, code)


@pytest.mark.parametrize(
    ("name", "wait"), [("FLOOD_WAIT_34", 34), ("FLOOD_WAIT", None), ("SMS_FLOOD_WAIT_x", None)]
)
def test_flood_wait_says_how_long(
    wire: responses.RequestsMock, name: str, wait: int | None
) -> None:
    error = refused(wire, orjson.dumps({"ok": False, "error": name}))

    assert isinstance(error, ThrottledError)
    assert (error.retry_after, error.account) == (wait, True)


@pytest.mark.parametrize(
    ("status", "kind"),
    [(200, TransientError), (400, RefusedError), (429, ThrottledError), (500, AmbiguousError)],
)
def test_unknown_error_is_kept_in_the_detail(
    wire: responses.RequestsMock, status: int, kind: type[SendError]
) -> None:
    error = refused(wire, b'{"ok":false,"error":"SOMETHING_NEW"}', status)

    assert type(error) is kind
    assert error.detail == "SOMETHING_NEW"


@pytest.mark.parametrize(
    ("file", "state", "moment"),
    [
        ("report_delivered_2026-09.json", ReceiptState.DELIVERED, 1740560004),
        ("report_expired_2026-09.json", ReceiptState.EXPIRED, 1740560300),
    ],
)
def test_gateway_report_becomes_a_receipt(file: str, state: ReceiptState, moment: int) -> None:
    call = gateway_call(payload("telegram_gateway", file))

    assert gateway().parse_webhook(call).receipts == [
        Receipt(
            provider_id="187259537046478",
            ref="att-3",
            state=state,
            vendor_status=state.value,
            at=datetime.fromtimestamp(moment, UTC),
        )
    ]


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("sent", ReceiptState.SENT),
        ("delivered", ReceiptState.DELIVERED),
        ("read", ReceiptState.READ),
        ("expired", ReceiptState.EXPIRED),
        ("revoked", ReceiptState.FAILED),
    ],
)
def test_every_status_has_its_state(word: str, state: ReceiptState) -> None:
    call = gateway_call(REPORT.replace(b'"delivered"', f'"{word}"'.encode()))

    assert [(r.vendor_status, r.state) for r in gateway().parse_webhook(call).receipts] == [
        (word, state)
    ]


def test_report_without_delivery_is_ignored() -> None:
    call = gateway_call(payload("telegram_gateway", "report_verification_2026-09.json"))

    assert gateway().parse_webhook(call).receipts == []


@pytest.mark.parametrize(
    ("age", "is_believed"), [(-301, False), (-300, True), (300, True), (301, False)]
)
def test_only_reports_of_the_last_minutes_are_accepted(age: int, *, is_believed: bool) -> None:
    now = datetime(2026, 9, 1, tzinfo=UTC)
    refusal = nullcontext() if is_believed else pytest.raises(InvalidWebhookError)

    with time_machine.travel(now, tick=False), refusal:
        assert gateway().parse_webhook(gateway_call(REPORT, at=now.timestamp() - age)).receipts


def test_gateway_is_polled_by_request_id(wire: responses.RequestsMock) -> None:
    url = "https://gateway.example.com/checkVerificationStatus"
    wire.post(url, body=payload("telegram_gateway", "status_read_2026-09.json"))

    receipt = gateway().poll("187259537046478")

    assert receipt == Receipt(
        provider_id="187259537046478",
        ref="att-3",
        state=ReceiptState.READ,
        vendor_status="read",
        at=datetime.fromtimestamp(1740560010, UTC),
    )
    assert orjson.loads(body_of(wire.calls[0].request)) == {"request_id": "187259537046478"}


@pytest.mark.parametrize(
    ("status", "body"), [(200, b'{"ok":false,"error":"REQUEST_ID_INVALID"}'), (502, b"<html>")]
)
def test_unanswered_poll_changes_nothing(
    wire: responses.RequestsMock, status: int, body: bytes
) -> None:
    wire.post("https://gateway.example.com/checkVerificationStatus", body=body, status=status)

    assert gateway().poll("1") is None


def test_feedback_names_the_entered_code(wire: responses.RequestsMock) -> None:
    wire.post(
        "https://gateway.example.com/checkVerificationStatus",
        body=payload("telegram_gateway", "status_read_2026-09.json"),
    )

    gateway().report_entered("187259537046478", "0429")

    told = orjson.loads(body_of(wire.calls[0].request))
    assert told == {"request_id": "187259537046478", "code": "0429"}
    assert wire.calls[0].request.headers["Authorization"] == "Bearer AAEgateway-secret-token"


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (200, b'{"ok":false,"error":"REQUEST_ID_INVALID"}', RefusedError),
        (200, b'{"ok":false,"error":"FLOOD_WAIT_7"}', ThrottledError),
        (200, b'{"ok":false,"error":"the code 482915 is unknown"}', TransientError),
        (502, b"<html>", AmbiguousError),
    ],
)
def test_refused_report_of_a_code_is_an_error_without_the_code(
    wire: responses.RequestsMock, status: int, body: bytes, error: type[SendError]
) -> None:
    wire.post("https://gateway.example.com/checkVerificationStatus", body=body, status=status)

    with pytest.raises(error) as caught:
        gateway().report_entered("1", "482915")

    assert "482915" not in str(caught.value)
