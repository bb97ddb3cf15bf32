"""Meta's webhook: message statuses, account events, and the verification request."""

from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import urlencode

import orjson
import pytest

from channels.providers.inbound import (
    AccountAlert,
    AlertKind,
    InvalidWebhookError,
    Receipt,
    ReceiptState,
    WebhookRequest,
)
from tests.channels.providers.vendors import meta_call, payload, whatsapp

WAMID = "wamid.HBgLMTY1MDU1NTEyMzQVAgARGBI5QTNDQTVCM0Q0Q0Q2RTY3RTcA"
TOO_FAST = (
    "Message failed to send because there were too many messages sent from this phone number in "
    "a short period of time"
)


def test_reads_a_delivered_status() -> None:
    call = meta_call(payload("whatsapp_cloud", "status_delivered_2026-09.json"))

    assert whatsapp().parse_webhook(call).receipts == [
        Receipt(
            provider_id=WAMID,
            ref="att-1",
            state=ReceiptState.DELIVERED,
            word="delivered",
            at=datetime(2025, 6, 15, 23, 27, 53, tzinfo=UTC),
        )
    ]


def test_reads_why_a_message_failed() -> None:
    call = meta_call(payload("whatsapp_cloud", "status_failed_2026-09.json"))

    assert whatsapp().parse_webhook(call).receipts == [
        Receipt(
            provider_id=WAMID,
            ref="att-1",
            state=ReceiptState.UNREACHABLE,
            word="failed",
            at=datetime(2025, 6, 15, 23, 28, tzinfo=UTC),
            error_code="131026",
            error_detail="Message Undeliverable.",
        )
    ]


@pytest.mark.parametrize(
    ("code", "state"),
    [
        *((code, ReceiptState.UNREACHABLE) for code in (131021, 131026, 131049, 130472, 131050)),
        *((code, ReceiptState.FAILED) for code in (131047, 131000, 131053, "words", None)),
    ],
)
def test_a_failure_says_whether_the_person_can_be_reached(
    code: int | str | None, state: ReceiptState
) -> None:
    update = orjson.loads(payload("whatsapp_cloud", "status_failed_2026-09.json"))
    status = update["entry"][0]["changes"][0]["value"]["statuses"][0]
    status["errors"] = [{"code": code}]

    (receipt,) = whatsapp().parse_webhook(meta_call(orjson.dumps(update))).receipts

    assert (receipt.state, receipt.word) == (state, "failed")


def test_reads_all_statuses_of_a_batch_and_nothing_else() -> None:
    call = meta_call(payload("whatsapp_cloud", "batch_2026-09.json"))

    read = [(r.provider_id, r.ref, r.state) for r in whatsapp().parse_webhook(call).receipts]

    assert read == [
        ("wamid.A", "att-1", ReceiptState.SENT),
        ("wamid.B", "att-2", ReceiptState.READ),
        ("wamid.D", None, ReceiptState.DELIVERED),
    ]


def test_statuses_come_without_a_phone_out_of_order_and_twice() -> None:
    call = meta_call(payload("whatsapp_cloud", "status_without_phone_2026-11.json"))

    read = [(r.provider_id, r.ref, r.state) for r in whatsapp().parse_webhook(call).receipts]

    assert read == [
        ("wamid.A", "att-1", ReceiptState.READ),
        ("wamid.A", "att-1", ReceiptState.SENT),
        ("wamid.A", "att-1", ReceiptState.READ),
    ]


@pytest.mark.parametrize(
    ("file", "alerts"),
    [
        ("out_of_band_error_2026-09.json", [AccountAlert("130429", TOO_FAST, AlertKind.THROTTLED)]),
        (
            "template_paused_2026-11.json",
            [AccountAlert("template_paused", "short_link ru NONE", AlertKind.TEMPLATE)],
        ),
        ("batch_2026-09.json", []),
        ("status_failed_2026-09.json", []),
    ],
)
def test_account_errors_are_alerts_not_receipts(file: str, alerts: list[AccountAlert]) -> None:
    call = meta_call(payload("whatsapp_cloud", file))

    assert whatsapp().parse_webhook(call).alerts == alerts
    assert not alerts or whatsapp().parse_webhook(call).receipts == []


@pytest.mark.parametrize("choice", ["stop", "resume"])
def test_choice_about_marketing_says_nothing_of_codes(choice: str) -> None:
    """Such a call is taken, whoever subscribed to the field."""
    row = {"wa_id": "16505551234", "category": "marketing_messages", "value": choice}
    row["detail"] = f"User requested to {choice} marketing messages"
    value = {"contacts": [{"wa_id": "16505551234"}], "user_preferences": [row]}
    change = {"field": "user_preferences", "value": value}

    read = whatsapp().parse_webhook(meta_call(orjson.dumps({"entry": [{"changes": [change]}]})))

    said = (read.receipts, read.recipients, read.replies, read.bot_updates, read.alerts)
    assert not any(said)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        *((code, AlertKind.REFUSED) for code in (0, 190, 368, 131031, 131042, "131045", 132015)),
        *((code, AlertKind.THROTTLED) for code in (4, 80007, 130429, 131048, 131000, 999999)),
        *((code, AlertKind.THROTTLED) for code in (None, "words", 1.5)),
    ],
)
def test_account_error_has_its_alert_kind(code: object, kind: AlertKind) -> None:
    update = orjson.loads(payload("whatsapp_cloud", "out_of_band_error_2026-09.json"))
    update["entry"][0]["changes"][0]["value"]["errors"] = [{"code": code, "title": "Words 1234567"}]

    (alert,) = whatsapp().parse_webhook(meta_call(orjson.dumps(update))).alerts

    assert (alert.kind, alert.detail) == (kind, "Words ***")


@pytest.mark.parametrize(
    ("code", "kinds"),
    [
        (131042, [AlertKind.REFUSED]), (131048, [AlertKind.THROTTLED]),
        (130497, [AlertKind.WARNING]), (131026, []), (131056, []), (132015, []),
    ],
)  # fmt: skip
def test_message_that_failed_for_the_accounts_sake(code: int, kinds: list[AlertKind]) -> None:
    update = orjson.loads(payload("whatsapp_cloud", "status_failed_2026-09.json"))
    update["entry"][0]["changes"][0]["value"]["statuses"][0]["errors"] = [{"code": code}]
    call = meta_call(orjson.dumps(update))

    assert [alert.kind for alert in whatsapp().parse_webhook(call).alerts] == kinds
    assert [receipt.word for receipt in whatsapp().parse_webhook(call).receipts] == ["failed"]


def test_a_signature_without_its_algorithm_is_refused() -> None:
    call = meta_call(payload("whatsapp_cloud", "status_delivered_2026-09.json"))
    bare = call.headers["X-Hub-Signature-256"].removeprefix("sha256=")

    with pytest.raises(InvalidWebhookError):
        whatsapp().parse_webhook(WebhookRequest(call.url, {"X-Hub-Signature-256": bare}, call.body))


HANDSHAKE = {
    "hub.mode": "subscribe",
    "hub.challenge": "1158201444",
    "hub.verify_token": "whatsapp-verify-token",
}


def handshake(query: dict[str, str]) -> WebhookRequest:
    url = f"https://kvitok.example.com/hooks/whatsapp?{urlencode(query)}"
    return WebhookRequest(url, {}, b"", method="GET")


@pytest.mark.parametrize(
    "change", [{"hub.verify_token": "wrong"}, {"hub.verify_token": ""}, {"hub.mode": "unsubscribe"}]
)
def test_wrong_handshake_is_refused(change: dict[str, str]) -> None:
    with pytest.raises(InvalidWebhookError):
        whatsapp().parse_webhook(handshake(HANDSHAKE | change))


def test_handshake_without_a_challenge_is_refused() -> None:
    query = {name: value for name, value in HANDSHAKE.items() if name != "hub.challenge"}

    with pytest.raises(InvalidWebhookError):
        whatsapp().parse_webhook(handshake(query))


def test_without_a_verify_token_there_is_no_handshake() -> None:
    with pytest.raises(InvalidWebhookError):
        whatsapp(verify_token="").parse_webhook(handshake(HANDSHAKE | {"hub.verify_token": ""}))


def test_handshake_does_not_replace_a_signature() -> None:
    call = replace(handshake(HANDSHAKE), method="POST")

    with pytest.raises(InvalidWebhookError):
        whatsapp().parse_webhook(call)
