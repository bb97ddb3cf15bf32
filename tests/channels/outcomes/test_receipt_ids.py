"""Receipts find their message however the message centre writes its id."""

from datetime import timedelta

import pytest
from django.utils import timezone

from channels.models import Attempt, Message
from channels.models import Receipt as StoredReceipt
from channels.outcomes import inbound_receipts
from channels.providers.inbound import InboundEvents, Receipt, ReceiptState
from channels.providers.smpp.receipts import ID_FORMATS
from tests.channels.outcomes.test_due_receipts import apply_stored
from tests.factories import AttemptFactory

pytestmark = pytest.mark.django_db
AUTO = ID_FORMATS["auto"]


def create_accepted(answered: str, phone: str = "+79161234567") -> Attempt:
    """A message that a centre took under this id."""
    attempt: Attempt = AttemptFactory.create(
        provider="smpp",
        channel="sms",
        provider_id=AUTO.from_response(answered),
        state="sent",
        message__phone=phone,
        message__channel="sms",
        message__state="sent",
    )
    return attempt


def store_due_receipt(
    receipted: str,
    phone: str = "+79161234567",
    *,
    state: ReceiptState = ReceiptState.DELIVERED,
    needs_phone: bool = False,
) -> None:
    first, *others = AUTO.from_receipt(receipted)
    receipt = Receipt(
        first,
        None,
        state,
        state.name,
        alternatives=tuple(others),
        phone=phone,
        needs_phone=needs_phone,
    )
    inbound_receipts.store("smpp", [InboundEvents(b"", receipts=[receipt])])
    due_again()


def due_again() -> None:
    StoredReceipt.objects.update(due_at=timezone.now() - timedelta(minutes=1))
    apply_stored()


def states() -> dict[str, str]:
    return dict(Message.objects.values_list("phone", "state"))


@pytest.mark.parametrize("phone", ["+79160000010", "89160000010"])
def test_phone_decides_between_two_spellings_of_an_id(phone: str) -> None:
    create_accepted("10", "+79160000010")  # hexadecimal 10 is decimal 16
    create_accepted("16", "+79160000016")

    store_due_receipt("16", phone)

    assert states() == {"+79160000010": "delivered", "+79160000016": "sent"}


@pytest.mark.parametrize("phone", ["", "+79160000010"])
def test_receipt_finds_its_message_with_or_without_a_known_phone(phone: str) -> None:
    create_accepted("AF", "+79160000010")

    store_due_receipt("175", phone)

    assert set(states().values()) == {"delivered"}


def test_receipt_before_the_commit_of_its_id_is_matched_later() -> None:
    store_due_receipt("175")
    assert states() == {}

    create_accepted("AF")
    due_again()

    assert set(states().values()) == {"delivered"}


def test_other_spelling_for_another_phone_does_not_match() -> None:
    create_accepted("1000", "+79160000010")

    store_due_receipt("4096", "+79160000016")  # 4096 is hexadecimal 1000

    assert states() == {"+79160000010": "sent"}


@pytest.mark.parametrize("state", [ReceiptState.DELIVERED, ReceiptState.UNREACHABLE])
@pytest.mark.parametrize("phone", ["+79990000000", "", "BANK"])
def test_reply_text_changes_no_message_of_another_phone(phone: str, state: ReceiptState) -> None:
    attempt = create_accepted("1234567")

    store_due_receipt("1234567", phone, state=state, needs_phone=True)

    attempt.refresh_from_db()
    assert (attempt.state, states()) == ("sent", {"+79161234567": "sent"})


@pytest.mark.parametrize("forger", ["+79990000000", "+79161234567", ""])
def test_reply_text_hides_no_receipt_of_the_centre(forger: str) -> None:
    # Before the message, and its id, are there
    store_due_receipt("1234567", forger, needs_phone=True)
    create_accepted("1234567")

    store_due_receipt("1234567", needs_phone=not forger)

    assert set(states().values()) == {"delivered"}
