"""A custom code: delivered, repeated, checked, reported."""

from dataclasses import replace
from functools import partial

import pytest
from django.utils import timezone
from pytest_django import Settings

from billing.wallet import ledger
from catalogue.ids import public_id
from channels.deliver import dispatcher, sweeps
from channels.deliver.claims import ClaimedMessage
from channels.lifecycle.state_machine import Event, EventKind
from channels.models import Attempt, Message
from channels.outcomes import transitions
from channels.vendor_accounts import registry
from otp.models import SealedCode, Verification
from storage import atomic_limits
from storage.redis_client import redis_client
from tests.api.clients import Api
from tests.api.races import at_once
from tests.channels.accounts import set_account
from tests.channels.fallback_stages import enable_fallback
from tests.channels.message_stages import PHONE, apply_event, claim
from tests.otp.send.custom_codes import CODE, outgoing, send
from tests.otp.sent_codes import age_rows, forget_limits

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("balanced_books"),
]
LETTERS = "aB3xYz"


def delivered(api: Api, **fields: object) -> Message:
    """Sends a code that the vendor accepts and delivers; returns its message."""
    sent = send(api, **fields)
    claim()
    attempt = Attempt.objects.latest("started_at")
    apply_event(attempt, EventKind.ACCEPTED, provider_id=f"vendor-{attempt.pk}")
    apply_event(attempt, EventKind.DELIVERED)
    assert sent.status == 200
    return Message.objects.get(pk=attempt.message_id)


@pytest.mark.parametrize("code", ["0000", "00482915", "ABCD", "aB3xYz", "A1B2C3D4E5", "1234567890"])
def test_custom_code_is_what_the_person_gets(api: Api, code: str) -> None:
    response = send(api, code, channel="whatsapp")

    sent = outgoing()

    assert (response.status, sent.code) == (200, code)
    assert code in sent.text
    verification = Verification.objects.get()
    assert (verification.is_custom, verification.length) == (True, len(code))


@pytest.mark.parametrize(
    "code", ["123", "12345678901", "12 34", "12-34", "абвг", "", 1234, ["1234"], "１２３４", "12é4"]
)
def test_malformed_own_code_is_refused_without_being_quoted(api: Api, code: object) -> None:
    response = send(api, code)

    assert (response.status, response.code, [*response.body["errors"]]) == (
        422,
        "invalid_input",
        ["code"],
    )
    assert not code or str(code) not in str(response.body)
    assert Message.objects.count() == 0


def test_null_code_makes_a_code_of_ours(api: Api) -> None:
    api.post("/otp/send", {"phone": PHONE, "code": None})

    assert (Message.objects.get().content, SealedCode.objects.count()) == ("code", 0)
    assert not Verification.objects.get().is_custom


# --- Sealed, and wiped ---


def test_code_is_sealed_for_its_message(api: Api) -> None:
    send(api)

    row = SealedCode.objects.get()
    assert row.message_id == Message.objects.get().pk
    assert row.verification_id == Verification.objects.get().pk
    assert CODE.encode() not in bytes(row.sealed)
    send(api, "9999", phone="+79161112233")
    SealedCode.objects.update(sealed=row.sealed)  # one in the place of the other
    events = {claimed.phone: refused(claimed) for claimed in claim()}
    assert events["+79161112233"].code == "internal"  # so it is not opened


def refused(claimed: ClaimedMessage) -> Event:
    return dispatcher.hand_over(claimed, start_before=float("inf"))


@pytest.mark.parametrize("kind", [EventKind.DELIVERED, EventKind.REFUSED, EventKind.EXPIRED])
def test_code_is_wiped_with_the_end_of_its_message(api: Api, kind: EventKind) -> None:
    send(api)
    claim()
    attempt = Attempt.objects.get()
    apply_event(attempt, EventKind.ACCEPTED, provider_id="vendor-1")
    assert SealedCode.objects.count() == 1

    apply_event(attempt, kind)

    assert SealedCode.objects.count() == 0


def test_code_is_kept_for_the_next_channel(api: Api) -> None:
    enable_fallback(api.company, "whatsapp", "sms")
    send(api)
    claim()
    apply_event(Attempt.objects.get(), EventKind.REFUSED)

    assert outgoing().code == CODE


@pytest.mark.parametrize("end", ["verified", "cancelled", "superseded", "expired", "reported"])
def test_code_is_wiped_once_useless(api: Api, end: str) -> None:
    sent = send(api).body
    if end == "verified":
        api.post("/otp/verify", {"phone": PHONE, "code": CODE})
    elif end == "cancelled":
        api.call("DELETE", f"/otp/{sent['verification']}")
    elif end == "superseded":
        forget_limits()
        send(api, "9999")
        assert SealedCode.objects.filter(message_id=Message.objects.earliest("id").pk).count() == 0
        return
    elif end == "reported":
        api.post("/otp/feedback", {"id": sent["id"]})
    else:
        age_rows(seconds=301)
        SealedCode.objects.update(expires_at=timezone.now())
        sweeps.sweep()

    assert SealedCode.objects.count() == 0


def test_withdrawn_code_ends_its_message_and_returns_the_tokens(api: Api) -> None:
    enable_fallback(api.company, "whatsapp", "sms")
    send(api)
    (claimed,) = claim()
    SealedCode.objects.all().delete()
    params = {**claimed.params, "custom_code": None}

    event = refused(replace(claimed, params=params))
    apply_event(Attempt.objects.get(), event.kind, code=event.code)

    message = Message.objects.get()
    assert (event.kind, message.state, claim()) == (EventKind.GIVEN_UP, "expired", [])
    assert ledger.balance(api.company.pk) == (1000, 0)


# --- Channels that carry it ---


@pytest.fixture
def _gateway_alone(settings: Settings) -> None:
    """Telegram Gateway takes 4 to 8 digits, our bot anything."""
    set_account(settings, "telegram_bot", {"token": ""})


@pytest.mark.usefixtures("_gateway_alone")
def test_letters_code_skips_telegram_gateway(api: Api) -> None:
    enable_fallback(api.company, "telegram", "sms")

    responses = [send(api, code, phone=f"+7916000000{n}") for n, code in enumerate((CODE, LETTERS))]

    first, second = Message.objects.order_by("id")
    assert [response.body["channel"] for response in responses] == ["telegram", "sms"]
    assert ([step["channel"] for step in first.chain], second.chain) == (["sms"], [])
    assert (first.content, second.content) == ("custom_digits", "custom_code")


@pytest.mark.usefixtures("_gateway_alone")
@pytest.mark.parametrize("code", [LETTERS, "123456789"])
def test_channel_that_cannot_carry_it_is_refused_before_anything(api: Api, code: str) -> None:
    response = send(api, code, channel="telegram")

    assert (response.status, response.code) == (422, "channel_unavailable")
    assert "4" in response.body["message"]
    assert code not in response.raw.decode()
    assert (Message.objects.count(), Verification.objects.count()) == (0, 0)
    assert ledger.balance(api.company.pk) == (1000, 0)
    assert send(api, code, channel="sms").status == 200  # nothing was counted


def test_every_route_of_codes_carries_custom_codes() -> None:
    for mode, channel, content in registry.routes_by_key():
        if content == "code" and (mode, channel) != ("live", "telegram"):
            assert (mode, channel, "custom_code") in registry.routes_by_key()
            assert (mode, channel, "custom_digits") in registry.routes_by_key()


# --- Repeats ---


@pytest.mark.usefixtures("store")
def test_repeat_is_answered_with_the_first_message(api: Api) -> None:
    first, *repeats = (send(api) for _ in range(3))

    assert [response.status for response in repeats] == [200, 200]
    assert {response.body["id"] for response in repeats} == {first.body["id"]}
    assert Message.objects.count() == 1
    assert ledger.balance(api.company.pk) == (999, 1)


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("mode", ["live", "test"])
def test_repeats_at_once_are_one_message(api: Api, test_api: Api, mode: str) -> None:
    client = api if mode == "live" else test_api

    responses = at_once([partial(send, client)] * 8)

    assert [response.status for response in responses] == [200] * 8
    assert len({response.body["id"] for response in responses}) == 1
    assert Message.objects.count() == Verification.objects.count() == 1


def test_other_reference_is_another_message(api: Api) -> None:
    first, again = (send(api, reference="order-1") for _ in range(2))
    held = send(api, reference="order-2")
    forget_limits()
    other = send(api, reference="order-2")

    assert first.body["id"] == again.body["id"] != other.body["id"]
    assert (held.code, other.status) == ("resend_too_soon", 200)
    assert first.body["verification"] == other.body["verification"]


def test_repeat_with_an_order_of_channels(api: Api) -> None:
    """The first of them may have been passed over."""
    first = send(api, channels=["whatsapp", "sms"])
    again = send(api, channels=["telegram", "whatsapp"])
    other = send(api, channels=["telegram"])

    assert [response.status for response in (first, again, other)] == [200] * 3
    assert first.body["id"] == again.body["id"] != other.body["id"]


def test_repeats_under_other_keys_are_one_message(api: Api) -> None:
    fields = {"phone": PHONE, "code": CODE}

    responses = [api.post("/otp/send", fields, Idempotency_Key=key) for key in ("a", "b", "b")]

    assert len({response.body["id"] for response in responses}) == 1
    assert responses[2].headers["Idempotent-Replayed"] == "true"
    assert Message.objects.count() == 1


def test_repeat_of_a_failed_send_is_its_failure(test_api: Api) -> None:
    phone = "+79161230003"

    first = send(test_api, phone=phone)
    (claimed,) = claim()
    event = refused(claimed)
    transitions.commit_events([event])
    again = send(test_api, phone=phone)

    assert (first.status, again.code) == (200, "recipient_unreachable")
    assert again.body["id"] == first.body["id"]
    assert Message.objects.count() == 1


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("channel", [None, "sms"])
def test_repeat_of_an_entered_code_is_the_same_message(api: Api, channel: str | None) -> None:
    """The webhook of an identity server may be repeated after the person was faster."""
    first = entered(api)

    again = send(api, channel=channel)

    assert (again.status, again.body.get("id")) == (200, first)
    assert Message.objects.count() == 1


def test_entered_code_is_repeated_past_the_cool_down_too(api: Api) -> None:
    first = entered(api)
    age_rows(seconds=61)

    assert send(api).body["id"] == first
    assert Message.objects.count() == 1


def entered(api: Api) -> str:
    message: str = send(api).body["id"]
    api.post("/otp/feedback", {"id": message})
    return message


@pytest.mark.usefixtures("store")
def test_cancelled_code_sent_again_is_held_by_the_cool_down(api: Api) -> None:
    cancel_delivered(api)

    assert send(api).code == "resend_too_soon"
    assert Message.objects.count() == 1


def test_cancelled_code_frees_the_slot_of_a_crashed_send(api: Api) -> None:
    cancel_delivered(api)

    let_seconds_pass(atomic_limits.DUPLICATE_SECONDS + 1)

    assert send(api).code == "resend_too_soon"
    assert Message.objects.count() == 1


def cancel_delivered(api: Api) -> None:
    api.call("DELETE", f"/otp/{public_id('otp', delivered(api).subject_id)}")


def let_seconds_pass(seconds: int) -> None:
    """Lets seconds pass for the counters in Redis."""
    client = redis_client()
    for key in client.scan_iter(match="*cool:*"):
        client.pexpire(key, client.pttl(key) - seconds * 1000)


def test_another_code_is_held_and_then_supersedes(api: Api) -> None:
    send(api)
    held = send(api, "9999")
    age_rows(seconds=61)

    assert held.code == "resend_too_soon"
    assert send(api, "9999").status == 200
    first, second = Verification.objects.order_by("id")
    assert (first.superseded_at is None, second.superseded_at is None) == (False, True)
    assert api.post("/otp/verify", {"phone": PHONE, "code": CODE}).code == "code_invalid"
    assert api.post("/otp/verify", {"phone": PHONE, "code": "9999"}).status == 200


def test_same_code_by_a_channel_not_tried_is_another_message(api: Api) -> None:
    first = send(api)

    by_sms = [send(api, channel="sms") for _ in range(2)]

    assert [response.status for response in by_sms] == [200, 200]
    assert by_sms[1].body["id"] == by_sms[0].body["id"] != first.body["id"]
    assert by_sms[0].body["verification"] == first.body["verification"]
    assert Message.objects.count() == 2


def test_codes_of_ours_and_theirs_supersede_each_other(api: Api) -> None:
    send(api)
    forget_limits()
    api.post("/otp/send", {"phone": PHONE})
    forget_limits()
    send(api)

    assert [row.is_custom for row in Verification.objects.order_by("id")] == [True, False, True]
    assert Verification.objects.filter(superseded_at=None).count() == 1


def test_next_channel_takes_the_custom_code_along(api: Api) -> None:
    verification = send(api).body["verification"]
    claim()

    response = api.post(f"/otp/{verification}/next", {})

    assert (response.status, response.body["channel"]) == (200, "telegram")
    assert outgoing().code == CODE


def test_next_channel_of_a_wiped_code_says_why(api: Api) -> None:
    message = delivered(api)
    verification = Verification.objects.get(pk=message.subject_id)

    response = api.post(f"/otp/{verification}/next", {})

    assert response.code == "channel_unavailable"
    assert "code" in response.body["message"]
    assert send(api, channel="sms").status == 200
