"""Published test vectors: their signatures verify, and fail with one byte changed."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
import time_machine

from channels.providers.http import HttpProvider
from channels.providers.inbound import InvalidWebhookError, WebhookRequest
from tests.channels.providers import vendors

HOOK = "https://kvitok.example.com/hooks/vendor"


@dataclass(frozen=True)
class Vector:
    account: Callable[[], HttpProvider]
    call: WebhookRequest
    receipts: int = 0


# Each was confirmed by code of somebody else's: pywa, tg-gateway, twilio-python, smscenter-mailer.
VECTORS = {
    "whatsapp_cloud": Vector(
        lambda: vendors.whatsapp(app_secret="app_secret_123"),
        WebhookRequest(
            HOOK,
            {
                "X-Hub-Signature-256": "sha256="
                "02fe0c96d28c59ddb7cf81eff0ca05809b360ba73b63c28210b5906a0a107d1f"
            },
            b'{"object":"whatsapp_business_account","entry":[]}',
        ),
    ),
    "telegram_gateway": Vector(
        lambda: vendors.gateway(token="AAEtesttoken"),
        WebhookRequest(
            HOOK,
            {
                "X-Request-Timestamp": "1714000000",
                "X-Request-Signature": (
                    "6b605defa59d0be52256b398b7f7139806375e7d31cab3272ecfab6652de4ed7"
                ),
            },
            b'{"request_id":"1","phone_number":"391234567890","request_cost":0,'
            b'"delivery_status":{"status":"delivered","updated_at":1714000001}}',
        ),
        receipts=1,
    ),
    "twilio": Vector(
        lambda: vendors.twilio(auth_token="12345"),
        WebhookRequest(
            "https://mycompany.com/myapp.php?foo=1&bar=2",
            {"X-Twilio-Signature": "GvWf1cFY/Q7PnoempGyD5oXAezc="},
            b"CallSid=CA1234567890ABCDE&Caller=%2B14158675310&Digits=1234"
            b"&From=%2B14158675310&To=%2B18005551212",
        ),
    ),
    "smsc": Vector(
        lambda: vendors.smsc(callback_secret="secret"),
        WebhookRequest(
            HOOK, {}, b"id=1001&phone=79001234567&status=1&md5=a541980bf480cafb74d8fa3fa1a4a892"
        ),
        receipts=1,
    ),
}


@pytest.fixture(params=list(VECTORS))
def vector(request: pytest.FixtureRequest) -> Vector:
    return VECTORS[request.param]


@time_machine.travel(1714000000, tick=False)
def test_published_signature_is_accepted(vector: Vector) -> None:
    assert len(vector.account().parse_webhook(vector.call).receipts) == vector.receipts


@time_machine.travel(1714000000, tick=False)
def test_published_signature_of_other_bytes_is_refused(vector: Vector) -> None:
    body = vector.call.body

    for index, byte in enumerate(body):
        flipped = body[:index] + bytes([byte ^ 1]) + body[index + 1 :]
        with pytest.raises(InvalidWebhookError):
            vector.account().parse_webhook(replace(vector.call, body=flipped))
