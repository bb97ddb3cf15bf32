"""Meta's webhook: message statuses, account events, and the verification request."""

from collections.abc import Mapping, Sequence
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


def test_whatsapp_delivered_status_becomes_a_receipt() -> None:
    call = meta_call(payload("whatsapp_cloud", "status_delivered_2026-09.json"))

    assert whatsapp().parse_webhook(call).receipts == [
        Receipt(
            provider_id=WAMID,
            ref="att-1",
            state=ReceiptState.DELIVERED,
            vendor_status="delivered",
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
            vendor_status="failed",
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
def test_failure_says_whether_the_person_can_be_reached(
    code: int | str | None, state: ReceiptState
) -> None:
    update = orjson.loads(payload("whatsapp_cloud", "status_failed_2026-09.json"))
    status = update["entry"][0]["changes"][0]["value"]["statuses"][0]
    status["errors"] = [{"code": code}]

    (receipt,) = whatsapp().parse_webhook(meta_call(orjson.dumps(update))).receipts

    assert (receipt.state, receipt.vendor_status) == (state, "failed")


def test_reads_all_statuses_of_a_batch_and_nothing_else() -> None:
    call = meta_call(payload("whatsapp_cloud", "batch_2026-09.json"))

    read = [(r.provider_id, r.ref, r.state) for r in whatsapp().parse_webhook(call).receipts]

    assert read == [
        ("wamid.A", "att-1", ReceiptState.SENT),
        ("wamid.B", "att-2", ReceiptState.READ),
        ("wamid.D", None, ReceiptState.DELIVERED),
    ]


@pytest.mark.parametrize(
    "cut", [rb"\ud83d", rb"\ud83dx", rb"\ude00", rb"\ud83d\ud83d\ude00", b"\xf0\x9f"]
)
def test_broken_character_in_name_keeps_statuses(cut: bytes) -> None:
    body = payload("whatsapp_cloud", "batch_2026-09.json")
    whole = whatsapp().parse_webhook(meta_call(body))

    read = whatsapp().parse_webhook(meta_call(b'{"name":"' + cut + b'",' + body.lstrip()[1:]))

    assert read.receipts == whole.receipts != []


def test_stored_receipts_omit_texts_of_people() -> None:
    body = payload("whatsapp_cloud", "batch_2026-09.json")
    assert b"Kerry Fisher" in body

    events = whatsapp().parse_webhook(meta_call(body))

    kept = orjson.loads(events.raw)["statuses"]
    assert [row["id"] for row in kept] == ["wamid.A", "wamid.B", "wamid.D", "wamid.E"]
    assert all(said not in events.raw for said in (b"Kerry", b"16315551234", b"wamid.C"))


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
def test_marketing_opt_out_does_not_block_codes(choice: str) -> None:
    """The call is accepted, whichever app subscribed to the field."""
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
        (131042, [AlertKind.REFUSED]),
        (131048, [AlertKind.THROTTLED]),
        (130497, [AlertKind.WARNING]),
        (131026, []),
        (131056, []),
        (132015, []),
    ],
)
def test_failure_raises_the_alert_of_its_code(code: int, kinds: list[AlertKind]) -> None:
    update = orjson.loads(payload("whatsapp_cloud", "status_failed_2026-09.json"))
    update["entry"][0]["changes"][0]["value"]["statuses"][0]["errors"] = [{"code": code}]
    call = meta_call(orjson.dumps(update))

    assert [alert.kind for alert in whatsapp().parse_webhook(call).alerts] == kinds
    assert [receipt.vendor_status for receipt in whatsapp().parse_webhook(call).receipts] == [
        "failed"
    ]


def test_signature_without_its_algorithm_is_refused() -> None:
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


REFUSED = AlertKind.REFUSED
WARNING = AlertKind.WARNING
TEMPLATE = AlertKind.TEMPLATE
RESTRICTIONS = "RESTRICTED_BIZ_INITIATED_MESSAGING RESTRICTED_ADD_PHONE_NUMBER_ACTION"
NO_MORE = "Limits cannot be increased yet."


def read(file: str) -> Sequence[AccountAlert]:
    return (
        whatsapp()
        .parse_webhook(meta_call(payload("whatsapp_cloud", f"{file}_2026-11.json")))
        .alerts
    )


def alerts_of(field: str, value: Mapping[str, object]) -> Sequence[AccountAlert]:
    body = {"entry": [{"id": "102290129340398", "changes": [{"field": field, "value": value}]}]}
    return whatsapp().parse_webhook(meta_call(orjson.dumps(body))).alerts


@pytest.mark.parametrize(
    ("file", "alert"),
    [
        ("account_restricted", ("account_restriction", RESTRICTIONS, REFUSED)),
        ("account_violation", ("account_violation", "ADULT", WARNING)),
        ("account_disabled", ("disabled_update", "DISABLE", REFUSED)),
        ("account_deleted", ("account_deleted", "", REFUSED)),
        ("account_offboarded", ("account_offboarded", "", REFUSED)),
        ("account_review_rejected", ("review_rejected", "", WARNING)),
        ("account_alert", ("increased_capabilities_eligibility_deferred", NO_MORE, WARNING)),
        ("quality_flagged", ("quality_flagged", "TIER_2K", WARNING)),
        ("template_locked", ("template_locked", "short_link ru NONE", TEMPLATE)),
        ("template_paused", ("template_paused", "short_link ru NONE", TEMPLATE)),
        ("template_disabled", ("template_disabled", "short_link ru NONE", TEMPLATE)),
        ("template_rejected", ("template_rejected", "short_link ru INVALID_FORMAT", TEMPLATE)),
        ("template_limit_exceeded", ("template_limit_exceeded", "short_link ru NONE", TEMPLATE)),
        ("template_quality_red", ("template_quality_red", "short_link ru", TEMPLATE)),
        ("category_announced", ("template_category_soon", "short_link ru MARKETING", TEMPLATE)),
        ("category_changed", ("template_category", "short_link ru MARKETING", TEMPLATE)),
    ],
)
def test_account_event_becomes_an_alert(file: str, alert: tuple[str, str, AlertKind]) -> None:
    assert read(file) == [AccountAlert(*alert)]


@pytest.mark.parametrize("file", ["account_reinstated", "quality_upgraded", "template_approved"])
def test_recovery_raises_no_alert(file: str) -> None:
    assert read(file) == []


@pytest.mark.parametrize(
    ("restrictions", "kind"),
    [
        (["RESTRICTED_BIZ_INITIATED_MESSAGING"], REFUSED),
        (["RESTRICTED_ADD_PHONE_NUMBER_ACTION"], WARNING),
        ([], WARNING),
    ],
)
def test_restriction_stops_sending_only_when_it_forbids_sending(
    restrictions: list[str], kind: AlertKind
) -> None:
    listed = [
        {"restriction_type": restriction, "expiration": 1641330498} for restriction in restrictions
    ]

    (alert,) = alerts_of(
        "account_update", {"event": "ACCOUNT_RESTRICTION", "restriction_info": listed}
    )

    assert alert.kind is kind


def test_scheduled_disabling_is_a_warning() -> None:
    value = {"event": "DISABLED_UPDATE", "ban_info": {"waba_ban_state": "SCHEDULE_FOR_DISABLE"}}

    assert [alert.kind for alert in alerts_of("account_update", value)] == [WARNING]


@pytest.mark.parametrize("event", ["DOWNGRADE", "RED", "flagged"])
def test_bad_quality_of_the_number_is_a_warning(event: str) -> None:
    alerts = alerts_of("phone_number_quality_update", {"event": event})

    assert [(alert.code, alert.kind) for alert in alerts] == [(f"quality_{event.lower()}", WARNING)]


def test_quality_may_come_as_a_rating() -> None:
    (alert,) = alerts_of("phone_number_quality_update", {"event": "", "quality_rating": "RED"})

    assert alert.code == "quality_red"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("account_update", {"event": "PARTNER_ADDED"}),
        ("account_update", {"event": ["ACCOUNT_DELETED"]}),
        ("account_update", {"event": "ACCOUNT_UNHEARD_OF"}),
        ("account_alerts", {"alert_info": {"alert_severity": "INFORMATIONAL"}}),
        ("account_alerts", {"alert_info": "CRITICAL"}),
        ("account_review_update", {"decision": "APPROVED"}),
        ("phone_number_quality_update", {"event": "UNFLAGGED"}),
        ("phone_number_quality_update", {}),
        ("message_template_quality_update", {"new_quality_score": "GREEN"}),
        ("template_category_update", {}),
        ("message_template_status_update", {"event": None}),
        ("a_field_of_tomorrow", {"event": "DISABLED_UPDATE"}),
    ],
)
def test_other_changes_raise_no_alert(field: str, value: dict[str, object]) -> None:
    assert alerts_of(field, value) == []
