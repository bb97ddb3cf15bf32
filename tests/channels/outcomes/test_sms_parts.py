"""Multipart SMS: delivered when all parts are, failed as soon as one is."""

from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from accounts import purges
from billing.wallet import ledger
from channels.lifecycle.state_machine import Event, EventKind
from channels.models import Attempt, Message, Part, Receipt
from channels.outcomes import due_receipts, inbound_receipts, transitions
from channels.providers import inbound
from channels.providers.inbound import ReceiptState
from tests.api.clients import Api
from tests.api.races import at_once
from tests.channels.message_stages import states, submitted

pytestmark = pytest.mark.django_db(transaction=True)

WORDS = {
    ReceiptState.DELIVERED: "DELIVRD",
    ReceiptState.UNREACHABLE: "UNDELIV",
    ReceiptState.EXPIRED: "EXPIRED",
    ReceiptState.SENT: "ENROUTE",
    ReceiptState.READ: "READ",
}


def accept_in_parts(api: Api, total: int = 3, known: int = 3) -> Attempt:
    """Accepted by the vendor, who returned the ids of `known` parts."""
    attempt = submitted(api, channel="sms")
    store_parts(attempt, range(1, known + 1), total)
    whole = known == total
    what, provider_id = (EventKind.ACCEPTED, "p1+p2+p3") if whole else (EventKind.AMBIGUOUS, None)
    transitions.commit_events([Event(attempt.message_id, attempt.id, what, provider_id)])
    return attempt


def store_parts(attempt: Attempt, numbers: range, total: int) -> None:
    parts = [inbound.Part(str(attempt.id), number, total, f"p{number}") for number in numbers]
    inbound_receipts.store(attempt.provider, [inbound.InboundEvents(b"", parts=parts)])


def report(
    attempt: Attempt, provider_id: str, state: ReceiptState = ReceiptState.DELIVERED
) -> None:
    receipt = inbound.Receipt(provider_id, None, state, WORDS[state])
    inbound_receipts.store(attempt.provider, [inbound.InboundEvents(b"", receipts=[receipt])])
    due_receipts.apply_stored()


def test_message_is_delivered_with_its_last_part(api: Api) -> None:
    attempt = accept_in_parts(api)

    report(attempt, "p3")
    report(attempt, "p1")
    before = states(attempt)
    report(attempt, "p2")

    assert before == ("sent", "sent")
    assert states(attempt) == ("delivered", "delivered")
    assert ledger.balance(api.company.pk) == (1000 - 16, 0)
    assert Receipt.objects.filter(attempt=attempt, applied_at__isnull=False).count() == 3


def test_repeated_part_counts_once(api: Api) -> None:
    attempt = accept_in_parts(api, 2, 2)

    report(attempt, "p1")
    report(attempt, "p1", ReceiptState.READ)
    report(attempt, "p1")

    assert states(attempt) == ("sent", "sent")


@pytest.mark.parametrize(
    ("state", "ended"), [(ReceiptState.UNREACHABLE, "failed"), (ReceiptState.EXPIRED, "expired")]
)
def test_failed_part_fails_the_message(api: Api, state: ReceiptState, ended: str) -> None:
    attempt = accept_in_parts(api)

    report(attempt, "p1")
    report(attempt, "p2", state)

    assert states(attempt) == (ended, ended)
    assert ledger.balance(api.company.pk) == (1000, 0)


def test_late_delivery_of_all_parts_is_not_charged(api: Api) -> None:
    attempt = accept_in_parts(api, 2, 2)
    report(attempt, "p1", ReceiptState.EXPIRED)

    report(attempt, "p1")
    report(attempt, "p2")

    assert states(attempt) == ("delivered", "delivered")
    assert ledger.balance(api.company.pk) == (1000, 0)


def test_partly_submitted_message_stays_ambiguous(api: Api) -> None:
    attempt = accept_in_parts(api, total=3, known=2)

    report(attempt, "p1", ReceiptState.SENT)
    report(attempt, "p1")
    report(attempt, "p2")

    attempt.refresh_from_db()
    assert states(attempt) == ("ambiguous", "queued")
    assert attempt.provider_id is None  # or a receipt for that part would speak for all


def test_late_part_id_completes_the_message(api: Api) -> None:
    attempt = accept_in_parts(api, total=2, known=1)
    report(attempt, "p1")

    store_parts(attempt, range(2, 3), 2)
    report(attempt, "p2")

    assert states(attempt) == ("delivered", "delivered")


def test_receipt_before_its_part_is_matched_later(api: Api) -> None:
    attempt = submitted(api, channel="sms")
    report(attempt, "p1")
    store_parts(attempt, range(1, 3), 2)
    report(attempt, "p2")
    before = states(attempt)

    Receipt.objects.update(due_at=timezone.now() - timedelta(seconds=1))
    due_receipts.apply_stored()

    assert before == ("submitting", "queued")
    assert states(attempt) == ("delivered", "delivered")


def test_parts_are_stored_once_and_for_own_attempts_only(api: Api) -> None:
    attempt = accept_in_parts(api)

    store_parts(attempt, range(1, 4), 3)
    strange = inbound.Part(str(attempt.id), 1, 3, "x1")
    inbound_receipts.store("smpp", [inbound.InboundEvents(b"", parts=[strange])])

    assert Part.objects.count() == 3


@pytest.mark.parametrize("_round", range(3))
def test_two_last_parts_at_once_deliver_the_message(api: Api, _round: int) -> None:
    attempt = accept_in_parts(api, 2, 2)
    for number in (1, 2):
        receipt = inbound.Receipt(f"p{number}", None, ReceiptState.DELIVERED, "DELIVRD")
        inbound_receipts.store(attempt.provider, [inbound.InboundEvents(b"", receipts=[receipt])])
    ids = list(Receipt.objects.values_list("id", flat=True))

    at_once([partial(due_receipts._apply_batch, 1, receipt_id=receipt_id) for receipt_id in ids])

    assert states(attempt) == ("delivered", "delivered")


def test_parts_are_purged_with_raw_receipts(api: Api) -> None:
    attempt = accept_in_parts(api)
    Attempt.objects.update(started_at=timezone.now() - timedelta(days=31))

    purges.purge()

    assert Part.objects.count() == 0
    assert Message.objects.filter(pk=attempt.message_id).exists()
