"""Signatures agree with pywa, twilio-python, tg-gateway and smscenter-mailer."""

from pywa.utils import webhook_updates_validator

from tests.tools.simulator.sends import twilio_agrees
from tools.simulator import signatures

META_BODY = b'{"object":"whatsapp_business_account","entry":[]}'
TWILIO_URL = "https://mycompany.com/myapp.php?foo=1&bar=2"
TWILIO_FORM = {
    "CallSid": "CA1234567890ABCDE",
    "Caller": "+14158675310",
    "Digits": "1234",
    "From": "+14158675310",
    "To": "+18005551212",
}
GATEWAY_BODY = (
    b'{"request_id":"1","phone_number":"391234567890","request_cost":0,'
    b'"delivery_status":{"status":"delivered","updated_at":1714000001}}'
)


def test_whatsapp_vector() -> None:
    signed = signatures.whatsapp("app_secret_123", META_BODY)

    assert signed == "sha256=02fe0c96d28c59ddb7cf81eff0ca05809b360ba73b63c28210b5906a0a107d1f"
    assert webhook_updates_validator("app_secret_123", META_BODY, signed)


def test_twilio_vector() -> None:
    signed = signatures.twilio("12345", TWILIO_URL, TWILIO_FORM)

    assert signed == "GvWf1cFY/Q7PnoempGyD5oXAezc="
    assert twilio_agrees("12345", TWILIO_URL, TWILIO_FORM, signed)


def test_telegram_gateway_vector() -> None:
    signed = signatures.telegram_gateway("AAEtesttoken", "1714000000", GATEWAY_BODY)

    assert signed == "6b605defa59d0be52256b398b7f7139806375e7d31cab3272ecfab6652de4ed7"


def test_smsc_vector() -> None:
    signed = signatures.smsc("secret", "1001", "79001234567", "1")

    assert signed == "a541980bf480cafb74d8fa3fa1a4a892"
