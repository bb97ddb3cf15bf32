"""What vendors are answered: 200 once it is stored, and else what makes them try again."""

import hashlib
import hmac
import threading
from typing import Any

import orjson
import pytest
from django.conf import settings
from django.db import connection, transaction
from django.test import Client
from pytest_django import Settings

from channels import registry
from channels.models import Receipt

STATUS = {"id": "wamid.1", "status": "delivered", "timestamp": "1790000000", "recipient_id": "7"}
BODY = orjson.dumps(
    {
        "object": "whatsapp_business_account",
        "entry": [{"changes": [{"field": "messages", "value": {"statuses": [STATUS]}}]}],
    }
)


def tell(body: bytes = BODY, secret: str | None = None) -> Any:
    key = (secret or settings.WHATSAPP["app_secret"]).encode()
    signature = "sha256=" + hmac.new(key, body, hashlib.sha256).hexdigest()
    return Client(raise_request_exception=False).post(
        "/hooks/whatsapp",
        body,
        content_type="application/json",
        headers={"X-Hub-Signature-256": signature},
    )


@pytest.mark.django_db
def test_a_receipt_is_stored_before_it_is_answered() -> None:
    assert tell().status_code == 200
    assert Receipt.objects.get().provider_id == "wamid.1"


@pytest.mark.django_db
def test_a_bad_signature_is_refused_and_nothing_kept() -> None:
    assert tell(secret="somebody else's").status_code == 403
    assert not Receipt.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_without_the_database_a_vendor_is_told_to_try_again() -> None:
    is_locked, is_done = threading.Event(), threading.Event()

    def hold_the_table() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("LOCK TABLE channels_receipt")
            is_locked.set()
            is_done.wait(10)
        connection.close()

    thread = threading.Thread(target=hold_the_table)
    thread.start()
    is_locked.wait(10)
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '20ms'")

    answer = tell()

    is_done.set()
    thread.join()
    with connection.cursor() as cursor:  # it goes back to the pool
        cursor.execute("RESET lock_timeout")
    assert answer.status_code == 503
    assert tell().status_code == 200


def test_nobody_is_at_home_where_no_account_is_configured(settings: Settings) -> None:
    settings.TWILIO = settings.TWILIO | {"auth_token": ""}
    registry.forget_settings()

    for hook in ("twilio", "smsc", "pigeons"):
        assert Client().post(f"/hooks/{hook}").status_code == 404


def test_only_whatsapp_shakes_hands() -> None:
    told = {"hub.mode": "subscribe", "hub.challenge": "42"}
    token = {"hub.verify_token": settings.WHATSAPP["verify_token"]}

    assert Client().get("/hooks/whatsapp", told | token).content == b"42"
    assert Client().get("/hooks/whatsapp", told).status_code == 403
    assert Client().get("/hooks/twilio", told | token).status_code == 405
