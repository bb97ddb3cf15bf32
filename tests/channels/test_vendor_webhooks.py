"""Responses to vendors: 200 once stored, otherwise one that makes them retry."""

import hmac
from datetime import timedelta
from uuid import uuid4

import orjson
import pytest
from django.db.models import F
from django.test import Client, RequestFactory
from pytest_django import DjangoAssertNumQueries, Settings

from billing.models import Transfer
from billing.wallet import ledger
from channels import vendor_webhooks
from channels.models import Attempt, BlockedPhone, Message, ProviderAlert, Receipt
from channels.outcomes import due_receipts
from channels.providers import inbound
from channels.providers.inbound import AccountAlert, AlertKind, InboundEvents, ReceiptState
from channels.vendor_accounts import registry
from channels.vendor_webhooks import MetaHeaders
from tests.api.blocking import locked_by_another
from tests.api.clients import Api
from tests.channels.accounts import name_accounts, set_account
from tests.channels.message_stages import accepted, claimed
from tests.channels.providers.vendors import call_webhook, payload
from tests.factories import AttemptFactory
from tests.sql import execute

pytestmark = pytest.mark.django_db


STATUS = {"id": "wamid.1", "status": "delivered", "timestamp": "1790000000", "recipient_id": "7"}
BODY = orjson.dumps(
    {
        "object": "whatsapp_business_account",
        "entry": [{"changes": [{"field": "messages", "value": {"statuses": [STATUS]}}]}],
    }
)

USER_ID = "US.13491208655302741918"
ALERT = AccountAlert("template_paused", "verification_code", AlertKind.TEMPLATE)


def post_webhook(body: bytes = BODY, secret: str = "", path: str = "") -> int:
    return call_webhook("whatsapp_cloud", body, secret, path)


@pytest.mark.django_db
def test_signature_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[bool] = []
    compare = hmac.compare_digest

    def count(given: bytes, expected: bytes) -> bool:
        compared.append(compare(given, expected))
        return compared[-1]

    monkeypatch.setattr(hmac, "compare_digest", count)

    statuses = [post_webhook() for _ in range(2)]  # new, and a repeat

    assert statuses == [200, 200]
    assert compared == [True, True]


def test_headers_are_those_of_the_request() -> None:
    names = {"x-hub-signature": "a", "host": "example.com"}
    request = RequestFactory().generic("POST", "/hooks/whatsapp", b"x", headers=names)

    headers = MetaHeaders(request.META)

    assert dict(headers) == dict(request.headers)
    assert (headers["x-HUB-signature"], headers["Content-Type"], len(headers)) == (
        "a",
        "application/octet-stream",
        len(request.headers),
    )
    assert headers.get("X-Other", "none") == "none"


def test_empty_call_needs_no_database() -> None:
    assert post_webhook(b'{"object": "whatsapp_business_account", "entry": []}') == 200


@pytest.mark.django_db(transaction=True)  # else there would be a savepoint
def test_receipt_takes_one_statement(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    for _ in range(2):  # new, and a repeat
        with django_assert_num_queries(1):
            assert post_webhook() == 200


@pytest.mark.django_db(transaction=True)
def test_without_the_database_the_webhook_answers_503() -> None:
    def lock_the_table() -> None:
        execute("LOCK TABLE channels_receipt")

    with locked_by_another(lock_the_table):
        status = post_webhook()

    assert status == 503
    assert post_webhook() == 200


def test_webhook_of_an_unconfigured_account_is_404(settings: Settings) -> None:
    set_account(settings, "twilio", {"auth_token": ""})

    for hook in ("twilio", "smsc", "pigeons"):
        assert Client().post(f"/hooks/{hook}").status_code == 404


def test_only_whatsapp_answers_get(settings: Settings) -> None:
    verification = {"hub.mode": "subscribe", "hub.challenge": "42"}
    token = {"hub.verify_token": settings.PROVIDER_ACCOUNTS["whatsapp_cloud"]["verify_token"]}

    assert Client().get("/hooks/whatsapp", verification | token).content == b"42"
    assert Client().get("/hooks/whatsapp", verification).status_code == 403
    assert Client().get("/hooks/twilio", verification | token).status_code == 405


@pytest.mark.django_db
def test_each_account_has_its_own_webhook_url(settings: Settings) -> None:
    name_accounts(settings, "kz", vendor="whatsapp_cloud")
    settings.PROVIDER_ACCOUNTS["whatsapp_cloud:kz"]["app_secret"] = "kz's own"
    registry.clear_caches()

    assert post_webhook(secret="kz's own") == 403
    assert post_webhook(secret="kz's own", path="/hooks/whatsapp/kz") == 200
    assert Receipt.objects.get().provider == "whatsapp_cloud:kz"
    assert post_webhook(path="/hooks/whatsapp/uz") == 404


@pytest.mark.django_db
def test_receipt_of_one_account_moves_no_attempt_of_another(settings: Settings) -> None:
    name_accounts(settings, "kz", vendor="whatsapp_cloud")
    secret = settings.PROVIDER_ACCOUNTS["whatsapp_cloud"]["app_secret"]
    attempt = AttemptFactory.create(provider="whatsapp_cloud", provider_id="wamid.1")

    assert post_webhook(secret=secret, path="/hooks/whatsapp/kz") == 200
    due_receipts.apply_stored()

    attempt.refresh_from_db()
    assert attempt.state == "sent"


@pytest.mark.parametrize("name", ["twilio", "twilio:kz", "telegram_gateway"])
def test_sends_name_their_accounts_webhook_url(settings: Settings, name: str) -> None:
    name_accounts(settings, "kz")
    path = name.replace("_", "-").replace(":", "/")

    assert registry.hook_url(name) == f"{settings.PUBLIC_URL}/hooks/{path}"
    assert registry.live_providers()[name].name == name


def receipt(ref: str) -> inbound.Receipt:
    return inbound.Receipt("wamid.1", ref, ReceiptState.DELIVERED, "delivered")


def test_reply_finds_person_from_receipt_of_same_call(api: Api) -> None:
    message = claimed(api, channel="whatsapp")
    ref = str(message.attempt_id)

    vendor_webhooks.handle_events(
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

    assert BlockedPhone.objects.get().phone == message.phone


def test_alert_counts_once_for_a_repeated_receipt() -> None:
    events = InboundEvents(b"{}", receipts=[receipt(str(uuid4()))], alerts=[ALERT, ALERT])

    for _ in range(3):
        vendor_webhooks.handle_events("whatsapp_cloud", [events])

    assert ProviderAlert.objects.get().times == 1


def test_alert_without_a_receipt_counts_each_time() -> None:
    for _ in range(3):
        vendor_webhooks.handle_events("whatsapp_cloud", [InboundEvents(b"{}", alerts=[ALERT])])

    assert ProviderAlert.objects.get().times == 3


def test_large_batch_body_is_stored_once() -> None:
    raw = b"x" * 2**19
    receipts = [receipt(str(uuid4())) for _ in range(3)]

    vendor_webhooks.handle_events("whatsapp_cloud", [InboundEvents(raw, receipts=receipts)])

    sizes = {str(stored.ref): len(stored.raw) for stored in Receipt.objects.all()}
    assert [sizes[str(reported.ref)] for reported in receipts] == [2**19, 0, 0]


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
    due_receipts.apply_stored()


@pytest.mark.parametrize(("ref", "wamid"), [(True, True), (True, False), (False, True)])
def test_read_alone_and_without_a_phone_is_a_delivery(api: Api, ref: bool, wamid: bool) -> None:
    attempt = accepted(api, channel="whatsapp")

    assert {
        call_webhook("whatsapp_cloud", statuses(attempt, ref=ref, wamid=wamid)) for _ in range(2)
    } == {200}
    apply_stored()

    message = Message.objects.get()
    assert (message.state, message.read_at is not None) == ("delivered", True)
    # The repeats are the same receipts; that it was sent is no news of an attempt found by its id.
    assert Receipt.objects.count() == (1 if wamid else 2)
    assert Transfer.objects.filter(kind="capture").count() == 1
    assert ledger.balance(api.company.pk) == (999, 0)


def test_foreign_statuses_change_nothing(api: Api) -> None:
    attempt = accepted(api, channel="whatsapp")

    assert call_webhook("whatsapp_cloud", statuses(attempt, ref=False, wamid=False)) == 200
    apply_stored()

    assert Message.objects.get().state == "sent"
