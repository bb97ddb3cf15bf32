"""The secrets of an endpoint, and the signatures that they make."""

import base64
from datetime import UTC, datetime
from uuid import UUID

import pytest
from django.test import override_settings
from standardwebhooks import Webhook, WebhookVerificationError

from webhooks import signing

ID = UUID("01930000-0000-7000-8000-000000000001")
OTHER = UUID("01930000-0000-7000-8000-000000000002")
BODY = '{"type":"message.delivered","data":{"name":"Ромашка"}}'.encode()
KEYS = {"k2": b"second key of the server, 32 chars", "k1": b"first key of the server, 32 chars."}


@pytest.fixture(autouse=True)
def _keys() -> object:
    with override_settings(WEBHOOK_KEYS=KEYS):
        yield


def test_secret_has_the_standard_format() -> None:
    secret = signing.secret(ID, "k1", 1)

    assert secret.startswith("whsec_")
    assert len(base64.b64decode(secret.removeprefix("whsec_"))) == 32


def test_secret_depends_on_endpoint_key_and_generation() -> None:
    secrets = {
        signing.secret(endpoint, key, generation)
        for endpoint in (ID, OTHER)
        for key in ("k1", "k2")
        for generation in (1, 2, 11)
    }

    assert len(secrets) == 12
    assert signing.secret(ID, "k1", 1) in secrets


def test_removed_key_signs_nothing() -> None:
    with pytest.raises(KeyError):
        signing.secret(ID, "k0", 1)


def test_both_secrets_verify_during_rotation() -> None:
    old = signing.secret(ID, "k1", 1)
    new = signing.secret(ID, "k2", 2)
    headers = signing.headers([new, old], "evt_1", BODY, datetime.now(UTC))

    for secret in (old, new):
        assert Webhook(secret).verify(BODY, headers)["data"] == {"name": "Ромашка"}
    with pytest.raises(WebhookVerificationError):
        Webhook(signing.secret(OTHER, "k1", 1)).verify(BODY, headers)


@pytest.mark.parametrize("change", ["body", "id", "time"])
def test_tampered_webhook_is_rejected(change: str) -> None:
    secret = signing.secret(ID, "k1", 1)
    at = datetime.now(UTC)
    headers = signing.headers([secret], "evt_1", BODY, at)
    body = BODY + b" " if change == "body" else BODY
    if change == "id":
        headers["webhook-id"] = "evt_2"
    if change == "time":
        headers["webhook-timestamp"] = str(int(at.timestamp()) + 1)

    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(body, headers)
