"""Receipts: verified, stored once, matched late, and only to their own attempt."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import orjson
import pytest
from django.test import Client
from django.utils import timezone

from billing.wallet import ledger
from channels.models import Attempt, KnownRecipient, Message, Receipt
from channels.outcomes import due_receipts, inbound_receipts
from channels.providers import inbound
from channels.providers.inbound import ReceiptState
from tests.api.clients import Api
from tests.channels.message_stages import accepted, states, store_due_receipt, submitted
from tests.channels.providers.vendors import call_webhook
from tests.factories import AttemptFactory
from tests.sql import execute

pytestmark = pytest.mark.django_db

AT = datetime(2026, 1, 31, 10, 0, tzinfo=UTC)


def apply_stored() -> None:
    """Applies all due receipts, in as many rounds as a worker needs."""
    while due_receipts.apply_stored():
        pass


def test_receipt_is_applied_once(api: Api) -> None:
    attempt = accepted(api)
    Message.objects.update(created_at=AT, sent_at=AT)
    receipt = store_due_receipt(attempt, at=AT)

    apply_stored()
    apply_stored()

    receipt.refresh_from_db()
    assert (receipt.due_at, receipt.attempt_id) == (None, attempt.id)
    assert receipt.applied_at is not None
    assert states(attempt) == ("delivered", "delivered")
    assert Message.objects.get().delivered_at == AT
    assert ledger.balance(api.company.pk) == (999, 0)


@pytest.mark.parametrize(
    ("text", "state", "available"),
    [
        (["sent", "delivered", "read"], "delivered", 999),
        (["read", "delivered", "sent"], "delivered", 999),
        (["delivered", "failed"], "delivered", 999),
        (["failed", "delivered"], "delivered", 1000),
        (["expired", "read"], "delivered", 1000),
        (["failed", "sent"], "failed", 1000),
        (["expired", "failed"], "expired", 1000),
        (["delivered"] * 5, "delivered", 999),
    ],
)
@pytest.mark.parametrize("is_one_group", [True, False])
def test_receipts_are_applied_in_any_order(
    api: Api, text: list[str], state: str, available: int, is_one_group: bool
) -> None:
    attempt = accepted(api)

    for number, word in enumerate(text):
        store_due_receipt(attempt, word, due_at=timezone.now() - timedelta(minutes=10 - number))
        if not is_one_group:
            apply_stored()
    apply_stored()

    assert states(attempt)[1] == state
    assert ledger.balance(api.company.pk) == (available, 0)
    assert not Receipt.objects.filter(due_at__isnull=False).exists()


def test_receipt_by_our_reference_stores_the_vendors_id(api: Api) -> None:
    attempt = submitted(api)
    store_due_receipt(attempt, "sent", ref=attempt.id, provider_id="wamid.9")

    apply_stored()

    attempt.refresh_from_db()
    assert (attempt.state, attempt.provider_id) == ("sent", "wamid.9")


def test_receipt_before_our_commit_is_matched_later(api: Api) -> None:
    attempt = submitted(api)
    receipt = store_due_receipt(attempt, provider_id="wamid.9")
    apply_stored()
    receipt.refresh_from_db()
    assert receipt.due_at is not None
    assert receipt.due_at > timezone.now()
    assert states(attempt) == ("submitting", "queued")

    Attempt.objects.update(provider_id="wamid.9", state="sent")
    Receipt.objects.update(due_at=timezone.now() - timedelta(minutes=1))
    apply_stored()

    assert states(attempt) == ("delivered", "delivered")


def test_unmatched_receipt_is_kept_after_the_timeout(db: None) -> None:
    stranger = AttemptFactory.build(provider_id="wamid.unknown")
    receipt = store_due_receipt(stranger, ref=uuid4())
    Receipt.objects.update(
        received_at=timezone.now() - timedelta(seconds=due_receipts.MATCH_TIMEOUT + 60)
    )

    apply_stored()

    receipt.refresh_from_db()
    assert (receipt.due_at, receipt.applied_at, receipt.attempt_id) == (None, None, None)


@pytest.mark.parametrize("by", ["ref", "provider_id"])
def test_receipt_of_another_provider_changes_nothing(api: Api, by: str) -> None:
    attempt = accepted(api)
    ids: dict[str, Any] = {"ref": attempt.id, "provider_id": ""} if by == "ref" else {}
    store_due_receipt(attempt, provider="twilio", **ids)

    apply_stored()

    assert states(attempt) == ("sent", "sent")
    assert ledger.balance(api.company.pk) == (999, 1)


def test_reason_of_the_vendor_is_kept(api: Api) -> None:
    attempt = accepted(api)
    store_due_receipt(attempt, "failed", error_code="131026", error_detail="Message undeliverable")

    apply_stored()

    attempt.refresh_from_db()
    assert (attempt.error_code, attempt.error_detail) == ("131026", "Message undeliverable")
    assert Message.objects.get().error == "delivery_failed"


def test_unreachable_receipt_fails_the_message_as_unreachable(api: Api) -> None:
    attempt = accepted(api)

    assert call_webhook("whatsapp_cloud", whatsapp_status(attempt, "failed", "131026")) == 200
    Receipt.objects.update(due_at=timezone.now() - timedelta(minutes=1))
    apply_stored()

    assert Receipt.objects.get().state == "unreachable"
    assert states(attempt) == ("failed", "failed")
    assert Message.objects.get().error == "recipient_unreachable"
    assert Attempt.objects.get().error_class == "unreachable"
    assert ledger.balance(api.company.pk) == (1000, 0)


def test_receipts_are_applied_in_batches(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(due_receipts, "BATCH_SIZE", 5)
    attempt = accepted(api)
    for _ in range(8):
        store_due_receipt(attempt, "sent")
    last = accepted(api, "+79161234568")
    store_due_receipt(last, due_at=timezone.now() - timedelta(seconds=30))

    assert due_receipts.apply_stored()
    assert states(last) == ("sent", "sent")
    assert not due_receipts.apply_stored()

    assert states(last) == ("delivered", "delivered")


def test_receipt_rejected_by_database_delays_no_other(api: Api) -> None:
    known = accepted(api)
    unknown = submitted(api, "+79161234568")
    long_ago = timezone.now() - timedelta(hours=1)
    poison = store_due_receipt(
        unknown, "sent", ref=unknown.id, provider_id=known.provider_id, due_at=long_ago
    )
    store_due_receipt(known)

    apply_stored()

    poison.refresh_from_db()
    assert (poison.due_at, poison.applied_at) == (None, None)
    assert states(known) == ("delivered", "delivered")
    assert states(unknown) == ("submitting", "queued")


def tell(*told: inbound.Receipt, **fields: Any) -> int:
    events = inbound.InboundEvents(b"{}", receipts=told, **fields)
    return inbound_receipts.store("whatsapp_cloud", [events])


def store(**fields: Any) -> int:
    status_update: dict[str, Any] = {
        "provider_id": "wamid.1",
        "ref": None,
        "state": ReceiptState.DELIVERED,
        "vendor_status": "delivered",
        "at": AT,
    }
    return tell(inbound.Receipt(**status_update | fields))


def test_repeated_receipt_is_stored_once() -> None:
    assert [store(), store(), store(error_code="other")] == [1, 0, 0]
    assert Receipt.objects.count() == 1


@pytest.mark.parametrize(
    "fields",
    [{"provider_id": "wamid.2"}, {"ref": str(uuid4())}, {"vendor_status": "read"}, {"at": None}],
)
def test_receipt_with_other_content_is_not_a_repeat(fields: dict[str, Any]) -> None:
    assert [store(), store(**fields)] == [1, 1]


def status_of(attempt: Attempt, word: str = "sent") -> inbound.Receipt:
    return inbound.Receipt(attempt.provider_id, str(attempt.id), ReceiptState(word), word, at=AT)


def test_sent_receipt_of_an_accepted_attempt_is_skipped(api: Api) -> None:
    attempt = accepted(api)

    assert tell(status_of(attempt)) == 0
    assert tell(status_of(attempt), status_of(attempt, "delivered")) == 1
    assert Receipt.objects.get().state == "delivered"


def test_skipped_sent_receipt_still_stores_the_user_id(api: Api) -> None:
    """Their STOP may come before any other receipt."""
    attempt = accepted(api)
    recipient = inbound.Recipient("US.1", str(attempt.id))

    assert tell(status_of(attempt), recipients=[recipient]) == 0

    assert KnownRecipient.objects.get().attempt_id == attempt.id


@pytest.mark.parametrize(
    "fields",
    [{"state": "submitting"}, {"state": "ambiguous"}, {"provider": "whatsapp_cloud:kz"}],
    ids=["submitting", "ambiguous", "another account"],
)
def test_sent_is_stored_while_the_outcome_is_unknown(api: Api, fields: dict[str, str]) -> None:
    attempt = submitted(api)
    Attempt.objects.update(**{"provider_id": "wamid.1", "state": "sent"} | fields)
    attempt.refresh_from_db()

    assert tell(status_of(attempt)) == 1


def test_sent_is_stored_beside_an_alert(api: Api) -> None:
    """The alert is recorded only if a receipt of its call is new."""
    attempt = accepted(api)
    alert = inbound.AccountAlert("1", "", inbound.AlertKind.WARNING)

    assert tell(status_of(attempt), alerts=[alert]) == 1
    assert tell(status_of(attempt), alerts=[alert]) == 0


@pytest.mark.django_db(transaction=True)
def test_receipts_of_a_call_are_one_statement(django_assert_num_queries: Any) -> None:
    count = [inbound.Receipt(f"wamid.{n}", None, ReceiptState.READ, "read") for n in range(100)]
    recipients = [inbound.Recipient(f"US.{n}", str(uuid4())) for n in range(100)]

    with django_assert_num_queries(1):
        assert tell(*count, recipients=recipients) == 100
    assert tell(*count, recipients=recipients) == 0


def test_very_many_receipts_are_stored_in_groups() -> None:
    count = [inbound.Receipt(f"wamid.{n}", None, ReceiptState.READ, "read") for n in range(250)]

    assert tell(*count, *count) == 250
    assert tell(*count) == 0
    assert Receipt.objects.count() == 250


def test_oversized_vendor_values_fit() -> None:
    long = "ж" * 5000

    assert (
        store(provider_id=long, vendor_status=long, error_code=long, error_detail=long, ref=long)
        == 1
    )

    receipt = Receipt.objects.get()
    assert (len(receipt.provider_id), len(receipt.vendor_status), receipt.ref) == (200, 40, None)


def test_odd_receipt_does_not_block_others_of_its_call() -> None:
    odd = [
        inbound.Receipt("\ud800\0", "\ud800", ReceiptState.DELIVERED, "\ud800", AT),
        inbound.Receipt("wamid.2", None, ReceiptState.DELIVERED, "x", AT, phone="\ud800"),
    ]
    good = [inbound.Receipt(f"wamid.{n}", None, ReceiptState.READ, "read") for n in range(3, 6)]
    people = [inbound.Recipient("\ud800" + "9" * 400, str(uuid4()))]

    assert tell(*odd, *good, recipients=people) == 5


def test_refused_receipt_does_not_block_others_of_its_call() -> None:
    """A column narrower than the vendor's value refuses one, for example."""
    execute("ALTER TABLE channels_receipt ADD CHECK (vendor_status <> 'unheard of')")
    odd = inbound.Receipt("wamid.1", None, ReceiptState.DELIVERED, "unheard of", AT)
    good = [inbound.Receipt(f"wamid.{n}", None, ReceiptState.READ, "read") for n in range(2, 6)]

    assert tell(good[0], odd, *good[1:]) == 4
    assert Receipt.objects.count() == 4


def test_our_own_fault_loses_no_receipt(monkeypatch: pytest.MonkeyPatch) -> None:
    """The vendor repeats the call, until a repaired release stores it."""
    monkeypatch.setattr(inbound_receipts, "_insert", lambda *_args, **_options: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        tell(inbound.Receipt("wamid.1", None, ReceiptState.DELIVERED, "delivered", AT))


def whatsapp_status(attempt: Attempt, status: str = "delivered", code: str = "") -> bytes:
    status_update: dict[str, Any] = {
        "id": attempt.provider_id,
        "status": status,
        "timestamp": "1769853600",
        "recipient_id": "79161234567",
        "biz_opaque_callback_data": str(attempt.id),
    }
    if code:
        status_update["errors"] = [{"code": int(code)}]
    change = {
        "field": "messages",
        "value": {"messaging_product": "whatsapp", "statuses": [status_update]},
    }
    entry = {"id": "1", "changes": [change]}
    return orjson.dumps({"object": "whatsapp_business_account", "entry": [entry]})


def test_signed_receipt_delivers(api: Api) -> None:
    attempt = accepted(api)

    assert call_webhook("whatsapp_cloud", whatsapp_status(attempt)) == 200
    assert call_webhook("whatsapp_cloud", whatsapp_status(attempt)) == 200
    Receipt.objects.update(due_at=timezone.now() - timedelta(minutes=1))
    apply_stored()

    receipt = Receipt.objects.get()
    assert (receipt.state, receipt.vendor_status, receipt.ref) == (
        "delivered",
        "delivered",
        attempt.id,
    )
    assert bytes(receipt.raw) == whatsapp_status(attempt)
    assert states(attempt) == ("delivered", "delivered")


@pytest.mark.parametrize("signature", ["", "sha256=", "sha256=" + "0" * 64, "sha1=abc", "ж"])
def test_receipt_with_a_bad_signature_is_not_stored(api: Api, signature: str) -> None:
    attempt = accepted(api)
    call = ("/hooks/whatsapp", whatsapp_status(attempt), "application/json")

    response = Client().post(*call, headers={"X-Hub-Signature-256": signature})

    assert response.status_code == 403
    assert not Receipt.objects.exists()
    assert states(attempt) == ("sent", "sent")
