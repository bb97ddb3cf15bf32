"""A receipt finds its message in whatever spelling the centre writes the id."""

import threading
import time
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from channels import receipts
from channels.models import Attempt, Message
from channels.models import Receipt as StoredReceipt
from channels.providers.base import Receipt, ReceiptState
from channels.providers.smpp.message_ids import SPELLINGS
from tests.channels.test_receipts import apply_stored
from tests.factories import AttemptFactory

pytestmark = pytest.mark.django_db
AUTO = SPELLINGS["auto"]


def taken(answered: str, phone: str = "+79161234567") -> Attempt:
    """A message that a centre took under this id."""
    attempt: Attempt = AttemptFactory.create(
        provider="smpp", channel="sms", provider_id=AUTO.answered(answered), state="sent",
        message__phone=phone, message__channel="sms", message__state="sent",
    )  # fmt: skip
    return attempt


def hear(receipted: str, phone: str = "+79161234567") -> None:
    first, *others = AUTO.receipted(receipted)
    said = Receipt(
        first, None, ReceiptState.DELIVERED, "DELIVRD", alternatives=tuple(others), phone=phone
    )
    receipts.store("smpp", [(said, b"")])
    StoredReceipt.objects.update(due_at=timezone.now() - timedelta(minutes=1))
    apply_stored()


def states() -> dict[str, str]:
    return dict(Message.objects.values_list("phone", "state"))


@pytest.mark.parametrize(
    ("answered", "receipted"),
    [("AF", "175"), ("175", "AF"), ("00af", "000000AF"), ("m-1", "M-1"), ("175", "175")],
)
def test_receipt_finds_its_message(answered: str, receipted: str) -> None:
    taken(answered)

    hear(receipted)

    assert set(states().values()) == {"delivered"}


def test_of_two_readings_the_one_to_the_receipts_phone_counts() -> None:
    taken("10", "+79160000010")  # hexadecimal 10 is decimal 16
    taken("16", "+79160000016")

    hear("16", "+79160000010")

    assert states() == {"+79160000010": "delivered", "+79160000016": "sent"}


def test_receipt_without_a_phone_of_ours_goes_by_its_id_alone() -> None:
    taken("AF")

    hear("175", "")

    assert set(states().values()) == {"delivered"}


@pytest.mark.django_db(transaction=True)
def test_receipt_that_overtakes_the_commit_of_its_id_waits_for_it() -> None:
    def commit() -> None:
        time.sleep(0.15)
        taken("AF")
        connection.close()

    late = threading.Thread(target=commit)
    late.start()
    hear("175")
    late.join()

    assert set(states().values()) == {"delivered"}


def test_receipt_of_an_unknown_message_is_parked() -> None:
    taken("AF")

    hear("99")

    assert set(states().values()) == {"sent"}
