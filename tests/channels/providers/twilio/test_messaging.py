"""Twilio: sending, its callbacks and its errors."""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl

import pytest
import responses
from twilio.request_validator import RequestValidator

from channels.providers.base import (
    Accepted,
    BarredError,
    DestinationRefusedError,
    Outgoing,
    RefusedError,
    SendError,
    ThrottledError,
    TransientError,
    UnreachableError,
)
from channels.providers.inbound import (
    AlertKind,
    InvalidWebhookError,
    Receipt,
    ReceiptState,
    WebhookRequest,
)
from tests.channels.providers.vendors import VENDORS, body_of, message, payload, twilio, twilio_call

URL = VENDORS["twilio"].send_url
ACCEPTED = VENDORS["twilio"].accepted
SID = "SM00000000000000000000000000000002"
JUDGE: Any = RequestValidator
DELIVERED = payload("twilio", "status_delivered_2026-09.form")


def sent(wire: responses.RequestsMock, outgoing: Outgoing, **settings: Any) -> dict[str, str]:
    wire.post(URL, body=ACCEPTED, status=201)
    assert twilio(**settings).send(outgoing) == Accepted(SID)
    return dict(parse_qsl(body_of(wire.calls[0].request).decode(), strict_parsing=True))


def refused(wire: responses.RequestsMock, body: bytes, status: int = 400) -> SendError:
    wire.post(URL, body=body, status=status)
    with pytest.raises(SendError) as caught:
        twilio().send(message())
    return caught.value


def test_sends_a_form_with_our_reference_in_the_callback(wire: responses.RequestsMock) -> None:
    form = sent(wire, message(text="Ваш код: 482915 & ещё"))

    assert form == {
        "To": "+998901234567",
        "From": "+15005550006",
        "Body": "Ваш код: 482915 & ещё",
        "StatusCallback": "https://kvitok.example.com/hooks/twilio?ref=att-1",
        "ValidityPeriod": "300",
    }
    headers = wire.calls[0].request.headers
    assert headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert headers["Authorization"].startswith("Basic QUMw")


def test_messaging_service_replaces_the_sender(wire: responses.RequestsMock) -> None:
    service = "MG" + "0" * 32

    form = sent(wire, message(), sender=service)

    assert form["MessagingServiceSid"] == service
    assert "From" not in form


def test_sender_named_like_a_service_is_a_sender(wire: responses.RequestsMock) -> None:
    assert sent(wire, message(), sender="MGSHOP")["From"] == "MGSHOP"


def test_callback_url_keeps_its_query(wire: responses.RequestsMock) -> None:
    form = sent(wire, message(ref="a b"), callback_url="https://k.example.com/hooks/twilio?v=1")

    assert form["StatusCallback"] == "https://k.example.com/hooks/twilio?v=1&ref=a+b"


@pytest.mark.parametrize(
    ("ttl", "kept"), [(-1, "1"), (0, "1"), (14401, "14401"), (36000, "36000"), (10**6, "36000")]
)
def test_validity_stays_within_twilios_range(
    wire: responses.RequestsMock, ttl: int, kept: str
) -> None:
    assert sent(wire, message(ttl=ttl))["ValidityPeriod"] == kept


@pytest.mark.parametrize(
    ("file", "status", "expected"),
    [
        ("error_invalid_to_2026-09.json", 400, (UnreachableError, "21211", False)),
        ("error_authenticate_2026-09.json", 401, (RefusedError, "20003", True)),
        ("error_too_many_requests_2026-09.json", 429, (ThrottledError, "20429", True)),
    ],
)
def test_twilio_error_codes_are_classified(
    wire: responses.RequestsMock,
    file: str,
    status: int,
    expected: tuple[type[SendError], str, bool],
) -> None:
    error = refused(wire, payload("twilio", file), status)

    assert (type(error), error.code, error.account) == expected
    assert error.detail


@pytest.mark.parametrize(
    ("code", "kind", "account"),
    [
        *((code, UnreachableError, False) for code in (21211, 21614, 21610, 21635)),
        *((code, UnreachableError, False) for code in (21217, 21265, 21266, 30005, 30006)),
        (30004, BarredError, False),
        *((code, RefusedError, True) for code in (20003, 20404, 21606, 21608, 30002)),
        *((code, RefusedError, True) for code in (20005, 20006, 20008, 20010, 21609)),
        *((code, RefusedError, True) for code in (21212, 21267, 21659, 21660, 21661, 21709)),
        *((code, RefusedError, True) for code in (21701, 21702, 21703, 21704, 21705)),
        *((code, DestinationRefusedError, True) for code in (21408, 21612, 30032, 30034)),
        *((code, DestinationRefusedError, True) for code in (30018, 30024, 30033, 30035, 30040)),
        *((code, RefusedError, False) for code in (21617, 30007, 30450, 21999)),
        *((code, ThrottledError, True) for code in (20429, 14107, 21611, 30001, 30022, 30023)),
        *((code, TransientError, False) for code in (30003, 30008, 30009, 30017, 30410)),
    ],
)
def test_every_documented_code_has_its_class(
    wire: responses.RequestsMock, code: int, kind: type[SendError], account: bool
) -> None:
    error = refused(wire, f'{{"code":{code},"message":"Words","status":400}}'.encode())

    assert (type(error), error.code, error.account) == (kind, str(code), account)


def test_twilio_delivery_becomes_a_receipt() -> None:
    receipt = Receipt(SID, "att-1", ReceiptState.DELIVERED, "delivered")

    assert twilio().parse_webhook(twilio_call(DELIVERED)).receipts == [receipt]


def test_reads_why_a_message_was_not_delivered() -> None:
    call = twilio_call(payload("twilio", "status_undelivered_2026-09.form"))

    assert twilio().parse_webhook(call).receipts == [
        Receipt(SID, "att-1", ReceiptState.FAILED, "undelivered", error_code="30034")
    ]


@pytest.mark.parametrize(
    ("word", "states"),
    [
        ("sending", [ReceiptState.SENT]),
        ("sent", [ReceiptState.SENT]),
        ("delivered", [ReceiptState.DELIVERED]),
        ("read", [ReceiptState.READ]),
        ("undelivered", [ReceiptState.FAILED]),
        ("failed", [ReceiptState.FAILED]),
        ("canceled", [ReceiptState.FAILED]),
        *((word, []) for word in ("accepted", "queued", "scheduled", "partially_delivered", "")),
    ],
)
def test_every_status_has_its_state(word: str, states: list[ReceiptState]) -> None:
    body = DELIVERED.replace(b"MessageStatus=delivered", f"MessageStatus={word}".encode())

    assert [
        receipt.state for receipt in twilio().parse_webhook(twilio_call(body)).receipts
    ] == states


UNREACHABLE = ReceiptState.UNREACHABLE


@pytest.mark.parametrize("word", ["failed", "undelivered", "sent"])
@pytest.mark.parametrize(
    ("code", "failed"),
    [
        *((code, UNREACHABLE) for code in ("30005", "30006", "21211", "21610", "21614")),
        ("21265", UNREACHABLE),
        ("30004", ReceiptState.BARRED),
        ("30036", ReceiptState.EXPIRED),
        *(
            (code, ReceiptState.FAILED)
            for code in ("30003", "30007", "30008", "30034", "0", "", "words")
        ),
    ],
)
def test_failure_says_whether_the_person_can_be_reached(
    word: str, code: str, failed: ReceiptState
) -> None:
    body = f"MessageSid={SID}&MessageStatus={word}&ErrorCode={code}".encode()

    (receipt,) = twilio().parse_webhook(twilio_call(body)).receipts

    assert receipt.state is (ReceiptState.SENT if word == "sent" else failed)


@pytest.mark.parametrize("word", ["failed", "undelivered", "sent", "delivered"])
@pytest.mark.parametrize(
    ("code", "kind"),
    [
        *((code, AlertKind.REFUSED) for code in ("21212", "21606", "21659", "21703", "30002")),
        *((code, AlertKind.REFUSED) for code in ("21660", "21661", "21704")),
        *((code, AlertKind.WARNING) for code in ("21408", "21612", "30032", "30034")),
        *(
            (code, None)
            for code in ("30003", "30005", "30007", "21610", "30022", "30036", "", "words")
        ),
    ],
)
def test_failure_says_whether_the_account_is_at_fault(
    word: str, code: str, kind: AlertKind | None
) -> None:
    body = f"MessageSid={SID}&MessageStatus={word}&ErrorCode={code}".encode()
    is_failed = word in {"failed", "undelivered"}

    alerts = twilio().parse_webhook(twilio_call(body)).alerts

    expected = [(code, kind)] if is_failed and kind else []
    assert [(alert.code, alert.kind) for alert in alerts] == expected


def test_callback_without_our_reference_matches_by_id() -> None:
    call = twilio_call(DELIVERED, url="https://kvitok.example.com/hooks/twilio")

    assert [(r.provider_id, r.ref) for r in twilio().parse_webhook(call).receipts] == [(SID, None)]


@pytest.mark.parametrize("given", ["https://h.example.com", "https://h.example.com:443"])
@pytest.mark.parametrize("signed", ["https://h.example.com", "https://h.example.com:443"])
def test_twilios_validator_agrees_with_or_without_the_port(given: str, signed: str) -> None:
    path = "/hooks/twilio?ref=att-1"
    params = dict(parse_qsl(DELIVERED.decode()))
    judge = JUDGE("twilio-secret-token")
    signature = judge.compute_signature(signed + path, params)

    call = WebhookRequest(given + path, {"X-Twilio-Signature": signature}, DELIVERED)

    assert judge.validate(given + path, params, signature)
    assert len(twilio().parse_webhook(call).receipts) == 1


@pytest.mark.parametrize("url", ["http://h.example.com", "https://h.example.net"])
def test_another_scheme_or_host_is_another_url(url: str) -> None:
    signed = twilio_call(DELIVERED, url="https://h.example.com/hooks/twilio?ref=att-1")

    with pytest.raises(InvalidWebhookError):
        twilio().parse_webhook(
            WebhookRequest(f"{url}/hooks/twilio?ref=att-1", signed.headers, signed.body)
        )


def test_our_reference_cannot_be_exchanged() -> None:
    call = twilio_call(DELIVERED)

    with pytest.raises(InvalidWebhookError):
        twilio().parse_webhook(
            WebhookRequest(call.url.replace("att-1", "att-2"), call.headers, call.body)
        )


@pytest.mark.parametrize(
    "body", [b"MessageStatus", b"a=1&a=2", b"MessageSid=%ff", b"\xff=1", b"a=1&&b=2", b"{}"]
)
def test_body_that_is_not_a_strict_form_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidWebhookError):
        twilio().parse_webhook(twilio_call(body))


def test_twilio_is_polled_by_message_id(wire: responses.RequestsMock) -> None:
    url = URL.replace(".json", f"/{SID}.json")
    wire.get(url, body=payload("twilio", "message_delivered_2026-09.json"))

    assert twilio().poll(SID) == Receipt(
        provider_id=SID,
        ref=None,
        state=ReceiptState.DELIVERED,
        vendor_status="delivered",
        at=datetime(2026, 8, 14, 10, 15, 5, tzinfo=UTC),
    )


def test_polled_failure_has_its_reason(wire: responses.RequestsMock) -> None:
    url = URL.replace(".json", f"/{SID}.json")
    wire.get(url, body=payload("twilio", "message_undelivered_2026-09.json"))

    receipt = twilio().poll(SID)

    assert receipt is not None
    assert (receipt.state, receipt.error_code) == (ReceiptState.UNREACHABLE, "30005")
    assert receipt.error_detail == "Unknown destination handset"


@pytest.mark.parametrize(
    ("status", "body"),
    [(200, ACCEPTED), (404, b'{"code":20404,"status":404}'), (502, b"<html>"), (200, b"[]")],
)
def test_twilio_poll_without_news_has_no_receipt(
    wire: responses.RequestsMock, status: int, body: bytes
) -> None:
    wire.get(URL.replace(".json", "/SM1%2F..%2F2.json"), body=body, status=status)

    assert twilio().poll("SM1/../2") is None
    assert len(wire.calls) == 1


@pytest.mark.parametrize(
    "date",
    [None, "", "yesterday", "Fri, 14 Aug 2026 10:15:05 -0000", f"Fri, 14 Aug {9**25} 10:15:05", 5],
)
def test_unreadable_date_is_omitted(wire: responses.RequestsMock, date: str | int | None) -> None:
    wire.get(URL.replace(".json", "/1.json"), json={"status": "delivered", "date_updated": date})

    receipt = twilio().poll("1")

    assert receipt is not None
    assert receipt.at is None
