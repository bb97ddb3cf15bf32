"""The events of a webhook call: their effects, order and repetition."""

from uuid import uuid4

import pytest

from channels.inbound import event_handling
from channels.models import BlockedPhone, ProviderAlert, Receipt
from channels.providers import inbound
from channels.providers.inbound import AccountAlert, AlertKind, InboundEvents, ReceiptState
from tests.api.clients import Api
from tests.channels.message_stages import claim, send

pytestmark = pytest.mark.django_db
USER_ID = "US.13491208655302741918"
ALERT = AccountAlert("template_paused", "verification_code", AlertKind.TEMPLATE)


def receipt(ref: str) -> inbound.Receipt:
    return inbound.Receipt("wamid.1", ref, ReceiptState.DELIVERED, "delivered")


def test_reply_may_name_a_person_whom_the_receipt_of_the_same_call_brings(api: Api) -> None:
    send(api, channel="whatsapp")
    (claimed,) = claim()
    ref = str(claimed.attempt_id)

    event_handling.handle(
        "whatsapp_cloud",
        [
            InboundEvents(
                b"{}",
                receipts=[receipt(ref)],
                recipients=[inbound.Recipient(USER_ID, ref)],
                replies=[inbound.Reply("", "STOP", USER_ID)],
            )
        ],
    )

    assert BlockedPhone.objects.get().phone == claimed.phone


def test_alert_counts_once_for_a_repeated_receipt() -> None:
    events = InboundEvents(b"{}", receipts=[receipt(str(uuid4()))], alerts=[ALERT, ALERT])

    for _ in range(3):
        event_handling.handle("whatsapp_cloud", [events])

    assert ProviderAlert.objects.get().times == 1


def test_alert_without_a_receipt_counts_each_time() -> None:
    for _ in range(3):
        event_handling.handle("whatsapp_cloud", [InboundEvents(b"{}", alerts=[ALERT])])

    assert ProviderAlert.objects.get().times == 3


def test_body_of_a_large_batch_is_stored_with_its_first_receipt_alone() -> None:
    raw = b"x" * 2**19
    receipts = [receipt(str(uuid4())) for _ in range(3)]

    event_handling.handle("whatsapp_cloud", [InboundEvents(raw, receipts=receipts)])

    sizes = {str(one.ref): len(one.raw) for one in Receipt.objects.all()}
    assert [sizes[str(one.ref)] for one in receipts] == [2**19, 0, 0]
