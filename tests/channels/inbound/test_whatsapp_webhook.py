"""WhatsApp's webhook, from Meta's verification request to the charge."""

import hashlib
import hmac
from datetime import timedelta

import orjson
import pytest
from django.conf import settings
from django.db.models import F
from django.test import Client

from billing.models import Transfer
from billing.wallet import ledger
from channels.models import Attempt, Message, Receipt
from channels.outcomes import receipts
from tests.api.clients import Api
from tests.channels.message_stages import accepted
from tests.channels.providers.vendors import payload

pytestmark = pytest.mark.django_db


def post_webhook(body: bytes) -> int:
    key = settings.PROVIDER_ACCOUNTS["whatsapp_cloud"]["app_secret"].encode()
    signature = "sha256=" + hmac.new(key, body, hashlib.sha256).hexdigest()
    headers = {"X-Hub-Signature-256": signature}
    return Client().post("/hooks/whatsapp", body, "application/json", headers=headers).status_code


def statuses(attempt: Attempt, *, ref: bool, wamid: bool) -> bytes:
    """Read, sent and read once more, with no phone in any of them."""
    payload_json = orjson.loads(payload("whatsapp_cloud", "status_without_phone_2026-11.json"))
    for status in payload_json["entry"][0]["changes"][0]["value"]["statuses"]:
        status["id"] = attempt.provider_id if wamid else "wamid.of-somebody"
        status["biz_opaque_callback_data"] = str(attempt.id) if ref else "not ours"
    return orjson.dumps(payload_json)


def apply_stored() -> None:
    """Within one test all of them are younger than its transaction."""
    Receipt.objects.update(due_at=F("received_at") - timedelta(minutes=1))
    receipts.apply_stored()


@pytest.mark.parametrize(("ref", "wamid"), [(True, True), (True, False), (False, True)])
def test_read_alone_and_without_a_phone_is_a_delivery(api: Api, ref: bool, wamid: bool) -> None:
    attempt = accepted(api, channel="whatsapp")

    assert {post_webhook(statuses(attempt, ref=ref, wamid=wamid)) for _ in range(2)} == {200}
    apply_stored()

    message = Message.objects.get()
    assert (message.state, message.read_at is not None) == ("delivered", True)
    # The repeats are the same receipts; that it was sent is no news of an attempt found by its id.
    assert Receipt.objects.count() == (1 if wamid else 2)
    assert Transfer.objects.filter(kind="capture").count() == 1
    assert ledger.balance(api.company.pk) == (999, 0)


def test_foreign_statuses_change_nothing(api: Api) -> None:
    attempt = accepted(api, channel="whatsapp")

    assert post_webhook(statuses(attempt, ref=False, wamid=False)) == 200
    apply_stored()

    assert Message.objects.get().state == "sent"
