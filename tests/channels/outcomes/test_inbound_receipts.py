"""Vendors' calls that share a statement: each is stored as it is alone."""

from functools import partial
from uuid import uuid4

import pytest

from channels.models import KnownRecipient, Receipt
from channels.outcomes import inbound_receipts
from channels.providers import inbound
from channels.providers.inbound import InboundEvents, ReceiptState, Recipient
from tests.api.clients import Api
from tests.api.groups import in_one_group
from tests.channels.message_stages import claimed

pytestmark = pytest.mark.django_db(transaction=True)


def receipt(ref: str, word: str = "delivered") -> inbound.Receipt:
    return inbound.Receipt(f"wamid.{ref}", ref, ReceiptState(word), word)


def together(*calls: tuple[str, InboundEvents]) -> list[int]:
    return in_one_group(
        inbound_receipts._calls,
        [partial(inbound_receipts.store, provider, [call]) for provider, call in calls],
    )


def test_each_call_counts_its_own_receipts() -> None:
    one, two, three = (str(uuid4()) for _ in range(3))

    result = together(
        ("whatsapp_cloud", InboundEvents(b"first", receipts=[receipt(one)])),
        ("telegram_gateway", InboundEvents(b"second", receipts=[receipt(two), receipt(three)])),
    )

    assert result == [1, 2]
    stored = {(each.provider, str(each.ref), bytes(each.raw)) for each in Receipt.objects.all()}
    assert stored == {
        ("whatsapp_cloud", one, b"first"),
        ("telegram_gateway", two, b"second"),
        ("telegram_gateway", three, b"second"),
    }


def test_repeats_are_stored_once() -> None:
    one = str(uuid4())
    two = str(uuid4())
    inbound_receipts.store("whatsapp_cloud", [InboundEvents(b"", receipts=[receipt(one)])])

    result = together(
        ("whatsapp_cloud", InboundEvents(b"", receipts=[receipt(one)])),
        ("whatsapp_cloud", InboundEvents(b"", receipts=[receipt(two)])),
        ("whatsapp_cloud", InboundEvents(b"", receipts=[receipt(two)])),
    )

    assert result[0] == 0
    assert set(result[1:]) <= {0, 1}
    assert Receipt.objects.count() == 2


def test_user_id_is_learned_from_a_call_about_several_people(api: Api) -> None:
    attempt_id = claimed(api, channel="whatsapp").attempt_id
    ref = str(attempt_id)
    told = [Recipient("US.1", ref), Recipient("US.2", ref)]

    together(
        ("whatsapp_cloud", InboundEvents(b"", receipts=[receipt(ref)], recipients=told)),
        ("whatsapp_cloud", InboundEvents(b"", receipts=[receipt(ref, "read")], recipients=told)),
    )

    known = KnownRecipient.objects.order_by("user_id").values_list("user_id", "attempt_id")
    assert list(known) == [("US.1", attempt_id), ("US.2", attempt_id)]


@pytest.mark.parametrize("size", [1, inbound_receipts.MAX_SHARED_BYTES + 1])
def test_receipts_are_written_in_fixed_order(size: int) -> None:
    """So a call and its repeat, alone or in a group, never wait for each other."""
    several = [receipt(str(uuid4())) for _ in range(10)]

    assert (
        inbound_receipts.store("whatsapp_cloud", [InboundEvents(bytes(size), receipts=several)])
        == 10
    )

    digests = [bytes(stored.digest) for stored in Receipt.objects.order_by("id")]
    assert digests == sorted(digests)
