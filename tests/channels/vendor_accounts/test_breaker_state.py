"""Breakers in the database: opened once, notified once, closed by a probe."""

from datetime import timedelta
from typing import Any

import pytest
import responses
from django.utils import timezone
from pytest_django import Settings

from accounts.models import Mail
from billing.models import Transfer
from billing.wallet import ledger
from channels.deliver import sweeps
from channels.deliver.dispatcher import Dispatcher
from channels.models import Attempt, Contact, Message, ProviderAccount, ProviderAlert
from channels.vendor_accounts import circuit_breaker, registry
from channels.vendor_accounts.circuit_breaker import MIN_CALLS, Call, Cause, Close, Release, Trip
from tests.api.clients import Api
from tests.channels.accounts import KZ, create_account, half_open_breaker, name_accounts
from tests.channels.message_stages import PHONE
from tests.channels.providers.vendors import call_webhook
from tests.factories import UserFactory
from tests.stack.programs import wait_until

pytestmark = pytest.mark.django_db(transaction=True)
TAKEN = {"sid": "SM00000000000000000000000000000001", "status": "queued"}
DEAD = {"code": 20003, "message": "Authenticate"}


def trip(name: str = "twilio", *, trips: int | None = None, pause: float = 300.0) -> Trip:
    return Trip(Call(name, trips), Cause.REFUSED, "20003: Authenticate", pause)


def account(name: str = "twilio") -> ProviderAccount:
    return ProviderAccount.objects.get(name=name)


def time_left(one: ProviderAccount) -> timedelta:
    assert one.open_until is not None
    return one.open_until - timezone.now()


def test_tripped_channel_is_stored_at_its_place() -> None:
    circuit_breaker.write(trip())

    tripped = account()
    assert (tripped.trips, tripped.reason, tripped.is_enabled) == (1, "20003: Authenticate", True)
    assert tripped.position == registry.position("twilio")
    assert timedelta(seconds=290) < time_left(tripped) < timedelta(seconds=301)


def test_running_calls_do_not_reopen_the_breaker() -> None:
    circuit_breaker.write(trip())
    circuit_breaker.write(trip(pause=3000))

    assert account().trips == 1
    assert time_left(account()) < timedelta(seconds=301)


def test_failed_probe_opens_it_again() -> None:
    half_open_breaker("twilio", probed_at=timezone.now())

    circuit_breaker.write(trip(trips=1, pause=600))

    tripped = account()
    assert (tripped.trips, tripped.probed_at) == (2, None)
    assert time_left(tripped) > timedelta(seconds=590)


def test_successful_probe_closes_the_breaker() -> None:
    half_open_breaker("twilio", probed_at=timezone.now())

    circuit_breaker.write(Close(Call("twilio", 1)))

    tripped = account()
    assert (tripped.open_until, tripped.opened_at, tripped.probed_at) == (None, None, None)
    assert (tripped.trips, tripped.reason) == (0, "")


def test_probe_that_was_not_made_is_free_again() -> None:
    half_open_breaker("twilio", probed_at=timezone.now())

    circuit_breaker.write(Release(Call("twilio", 1)))

    assert account().probed_at is None
    assert account().open_until is not None


def test_operators_are_notified_once_an_hour() -> None:
    operator = UserFactory.create(is_staff=True, language="en")
    UserFactory.create()

    for _ in range(2):
        circuit_breaker.write(trip())
        circuit_breaker.close("twilio")

    mail = Mail.objects.get()
    assert mail.to == operator.email
    assert mail.subject == "Kvitok: Twilio is paused for now"
    assert "the provider refuses the account" in mail.text
    assert "20003: Authenticate" in mail.text


ALONE = "No other account can take over"
PARTLY = "takes over the messages it can"


@pytest.mark.parametrize(
    ("name", "other", "said"),
    [
        ("twilio", None, "Meanwhile its messages go through Twilio · kz."),
        ("twilio", {"is_enabled": False}, ALONE),
        ("twilio", {"open_until": timezone.now()}, ALONE),
        *((name, {"prefixes": ["+7701"]}, PARTLY) for name in ("telegram_bot", "twilio")),
        ("telegram_gateway", {"prefixes": ["+7701"]}, PARTLY),
    ],
)
def test_email_says_which_account_takes_over(
    settings: Settings, name: str, other: dict[str, Any] | None, said: str
) -> None:
    name_accounts(settings, "kz")
    if other:
        create_account(KZ, **other)
    UserFactory.create(is_staff=True, language="en")

    circuit_breaker.write(trip(name))

    text = Mail.objects.get().text
    assert said in text
    assert (ALONE in text) is (said is ALONE)


def test_throttling_vendor_notifies_nobody() -> None:
    UserFactory.create(is_staff=True)

    circuit_breaker.write(Trip(Call("twilio"), Cause.THROTTLED, "20429", 1.0))

    assert account().trips == 1
    assert not Mail.objects.exists()


def address(settings: Settings, sid: str = "") -> str:
    first = settings.PROVIDER_ACCOUNTS["twilio"]
    sid = sid or first["account_sid"]
    return f"{first['api_url']}/2010-04-01/Accounts/{sid}/Messages.json"


def attempts() -> list[tuple[str, str, int]]:
    return list(Attempt.objects.order_by("n").values_list("provider", "state", "hold"))


@pytest.mark.parametrize(
    ("status", "refusal", "what"),
    [(401, DEAD, "refused"), (429, {"code": 20429, "message": "Too Many Requests"}, "retry")],
)
def test_account_at_fault_gives_the_message_to_another(
    wire: responses.RequestsMock,
    dispatcher: Dispatcher,
    api: Api,
    settings: Settings,
    *,
    status: int,
    refusal: dict[str, object],
    what: str,
) -> None:
    name_accounts(settings, "kz")
    wire.post(address(settings), json=refusal, status=status)
    wire.post(address(settings, "ACkz"), json=TAKEN, status=201)

    response = api.post("/otp/send", {"phone": PHONE, "channel": "sms"})

    assert (response.status, response.body["status"]) == (200, "sent")
    assert attempts() == [("twilio", "failed", 1), (KZ, "sent", 1)]
    assert Attempt.objects.get(n=1).error_class == what
    assert [call.request.url for call in wire.calls] == [
        address(settings),
        address(settings, "ACkz"),
    ]
    assert ledger.balance(api.company.pk) == (984, 16)
    assert Transfer.objects.filter(kind="hold").count() == 1
    assert account().open_until is not None


@pytest.mark.parametrize(
    ("status", "refusal", "reason"),
    [(401, DEAD, "20003: Authenticate"), (400, {"code": 21212, "message": "no"}, "21212: no")],
    ids=["account", "sender"],
)
def test_account_at_fault_without_another_is_delivery_failed(
    wire: responses.RequestsMock,
    dispatcher: Dispatcher,
    api: Api,
    settings: Settings,
    *,
    status: int,
    refusal: dict[str, object],
    reason: str,
) -> None:
    wire.post(address(settings), json=refusal, status=status)

    response = api.post("/otp/send", {"phone": PHONE, "channel": "sms"})

    assert (response.status, response.code) == (502, "delivery_failed")
    assert ledger.balance(api.company.pk) == (1000, 0)
    assert account().reason == reason


def test_refused_destination_uses_another_account_without_breaker(
    wire: responses.RequestsMock, dispatcher: Dispatcher, api: Api, settings: Settings
) -> None:
    operator = UserFactory.create(is_staff=True, language="en")
    name_accounts(settings, "kz")
    wrong = {"code": 21408, "message": "Permission has not been enabled"}
    wire.post(address(settings), json=wrong, status=400)
    for n in range(MIN_CALLS):  # a loop of one company over the numbers of such a country
        taken = TAKEN | {"sid": f"SM{n:032}"}
        wire.post(address(settings, "ACkz"), json=taken, status=201)

        response = api.post("/otp/send", {"phone": f"{PHONE[:-2]}{n:02}", "channel": "sms"})

        assert response.body["status"] == "sent"
    assert {*attempts()} == {("twilio", "failed", 1), (KZ, "sent", 1)}
    assert not ProviderAccount.objects.filter(open_until__isnull=False).exists()
    wait_until(Mail.objects.exists)
    assert Mail.objects.get().to == operator.email
    assert "Permission has not been enabled" in Mail.objects.get().text


@pytest.mark.parametrize(("code", "is_shut"), [("30002", True), ("30034", False)])
def test_callback_with_an_account_fault_opens_the_breaker(code: str, is_shut: bool) -> None:
    body = f"MessageSid=SM1&MessageStatus=undelivered&ErrorCode={code}".encode()

    assert call_webhook("twilio", body) == 200
    assert ProviderAlert.objects.get().code == code
    assert ProviderAccount.objects.filter(open_until__gt=timezone.now()).exists() is is_shut


@pytest.mark.parametrize(
    ("code", "error"), [(21614, "recipient_unreachable"), (21617, "delivery_failed")]
)
def test_fault_of_the_message_is_tried_by_one_account_only(
    wire: responses.RequestsMock,
    dispatcher: Dispatcher,
    api: Api,
    settings: Settings,
    *,
    code: int,
    error: str,
) -> None:
    name_accounts(settings, "kz")
    wrong = {"code": code, "message": "no"}
    wire.post(address(settings), json=wrong, status=400)

    response = api.post("/otp/send", {"phone": PHONE, "channel": "sms"})

    assert attempts() == [("twilio", "failed", 1)]
    assert response.code == error


@pytest.mark.parametrize(("has_contact", "expected"), [(True, "delivered"), (False, "failed")])
def test_bot_is_tried_before_telegram_counts_as_unreachable(
    wire: responses.RequestsMock,
    dispatcher: Dispatcher,
    api: Api,
    settings: Settings,
    *,
    has_contact: bool,
    expected: str,
) -> None:
    settings.BOTS_ASSUME_CONTACT = False
    if has_contact:
        Contact.objects.create(provider="telegram_bot", phone=PHONE, chat_id=7)
    gateway = settings.PROVIDER_ACCOUNTS["telegram_gateway"]
    bot = settings.PROVIDER_ACCOUNTS["telegram_bot"]
    away = {"ok": False, "error": "PHONE_NUMBER_NOT_AVAILABLE"}
    wire.post(f"{gateway['api_url']}/sendVerificationMessage", json=away)
    response = {"ok": True, "result": {"message_id": 7, "chat": {"id": 7}}}
    wire.post(f"{bot['api_url']}/bot{bot['token']}/sendMessage", json=response)

    api.post("/otp/send", {"phone": PHONE, "channel": "telegram"})

    assert Message.objects.get().state == expected
    tried = [provider for provider, *_ in attempts()]
    assert tried == ["telegram_gateway", "telegram_bot"][: 2 if has_contact else 1]
    spent = 1 if has_contact else 0
    assert ledger.balance(api.company.pk) == (1000 - spent, 0)


def test_accepted_probe_closes_the_breaker(
    wire: responses.RequestsMock, dispatcher: Dispatcher, api: Api, settings: Settings
) -> None:
    half_open_breaker("twilio")
    wire.post(address(settings), json=TAKEN, status=201)

    response = api.post("/otp/send", {"phone": PHONE, "channel": "sms"})

    assert response.body["status"] == "sent"
    wait_until(lambda: account().open_until is None)


def test_unresponsive_vendor_is_paused(
    wire: responses.RequestsMock, api: Api, settings: Settings
) -> None:
    worker = Dispatcher()
    wire.post(address(settings), json={}, status=500)
    for n in range(20):
        api.post("/otp/send", {"phone": f"+791612345{n:02d}", "channel": "sms"})

    wait_until(lambda: _round(worker) or Attempt.objects.filter(state="ambiguous").count() == 20)

    assert account().trips == 1
    assert account().reason.startswith("http_500")


def _round(one: Dispatcher) -> bool:
    one.dispatch()
    return False


def test_poll_that_accuses_the_account_is_heeded(
    wire: responses.RequestsMock, dispatcher: Dispatcher, api: Api, settings: Settings
) -> None:
    url = address(settings)
    wire.post(url, json=TAKEN, status=201)
    failed = {"sid": TAKEN["sid"], "status": "undelivered", "error_code": 30002}
    wire.get(url.replace(".json", f"/{TAKEN['sid']}.json"), json=failed)
    api.post("/otp/send", {"phone": PHONE, "channel": "sms"})
    Attempt.objects.update(poll_at=timezone.now() - timedelta(seconds=1))

    sweeps.poll()

    # The dispatcher's own sweep may have been first, and still be at it.
    wait_until(lambda: ProviderAccount.objects.filter(reason="30002").exists())
