"""A live code by another channel at once: what the cool-down holds, and what it does not."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial

import pytest
from django.db import transaction
from django.test import override_settings
from django.utils import timezone

from billing.wallet import ledger
from channels.deliver import sweeps
from channels.lifecycle.state_machine import EventKind
from channels.models import Attempt, Message
from otp.models import Verification
from tests.api.blocking import start_blocked
from tests.api.clients import Api
from tests.api.races import at_once
from tests.channels.fallback_stages import enable_fallback, fallback_events, transfers
from tests.channels.message_stages import PHONE, accepted, apply_event, claim, send
from tests.otp.sent_codes import age_rows, code_of, wrong_code

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("balanced_books"),
]


def ask(api: Api, **fields: object) -> str:
    response = api.post("/otp/send", {"phone": PHONE} | fields)
    return "ok" if response.status == 200 else response.code


def channels() -> list[str]:
    return list(Message.objects.order_by("id").values_list("channel", flat=True))


@pytest.mark.usefixtures("store")
def test_channel_not_tried_yet_is_not_held(api: Api) -> None:
    asked = [{}, {"channel": "sms"}, {"channel": "sms"}, {"channel": "whatsapp"}, {}]

    assert [ask(api, **fields) for fields in asked] == ["ok", "ok", *["resend_too_soon"] * 3]
    assert ask(api, channel="telegram") == "ok"
    assert channels() == ["whatsapp", "sms", "telegram"]
    assert Verification.objects.count() == 1
    assert set(Message.objects.values_list("subject_id", flat=True)) == {
        Verification.objects.get().pk
    }


@pytest.mark.usefixtures("store")
def test_code_of_another_purpose_is_held(api: Api) -> None:
    ask(api)

    assert ask(api, channel="sms", purpose="payment") == "resend_too_soon"
    assert channels() == ["whatsapp"]


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    "other", [{"code": "7777"}, {"bind": {"amount": "1", "payee": "Shop"}}, {"code_length": 5}]
)
def test_another_code_is_held_by_any_channel(api: Api, other: dict[str, object]) -> None:
    ask(api)

    response = api.post("/otp/send", {"phone": PHONE, "channel": "sms"} | other)

    assert (response.status, response.code) == (429, "resend_too_soon")
    assert 50 < int(response.headers["Retry-After"]) <= 60
    assert channels() == ["whatsapp"]


def test_used_code_is_not_sent_again(api: Api) -> None:
    ask(api)
    api.post("/otp/verify", {"phone": PHONE, "code": code_of(PHONE)})

    assert ask(api, channel="sms") == "resend_too_soon"
    assert channels() == ["whatsapp"]


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("lifetime", [0, 50])  # seconds, of which half is too little to send again
def test_code_with_little_time_left_is_not_sent_again(api: Api, lifetime: int) -> None:
    """A new code would be made, and that is held."""
    ask(api)
    created_at = timezone.now() - timedelta(seconds=lifetime * 0.6)
    Verification.objects.update(
        created_at=created_at, expires_at=created_at + timedelta(seconds=lifetime)
    )

    assert ask(api, channel="sms") == "resend_too_soon"


def test_code_that_cannot_be_resent_is_refused_with_its_reason(api: Api) -> None:
    ask(api)
    code = Verification.objects.get()
    Verification.objects.update(key_id="gone")

    response = api.post("/otp/send", {"phone": PHONE, "channel": "sms"})

    assert (response.status, response.code) == (422, "code_expired")
    assert list(Verification.objects.filter(superseded_at=None)) == [code]
    assert channels() == ["whatsapp"]


@pytest.mark.usefixtures("store")
def test_attempts_are_shared_and_not_refilled(api: Api) -> None:
    ask(api)
    api.post("/otp/verify", {"phone": PHONE, "code": wrong_code(PHONE)})

    response = api.post("/otp/send", {"phone": PHONE, "channel": "sms"})

    assert response.body["attempts_left"] == 4
    assert api.post("/otp/verify", {"phone": PHONE, "code": code_of(PHONE)}).status == 200


@pytest.mark.usefixtures("store")
@override_settings(CODE_LIMITS=[(2, 600), (10, 3600), (20, 86_400)])
def test_phone_limits_count_sends_by_other_channels(api: Api) -> None:
    asked = ("whatsapp", "sms", "telegram")

    assert [ask(api, channel=name) for name in asked] == ["ok", "ok", "send_limit"]


@pytest.mark.usefixtures("store")
def test_parallel_sends_by_another_channel_send_one(api: Api) -> None:
    ask(api)

    responses = at_once([partial(ask, api, channel="sms")] * 6)

    assert sorted(responses) == ["ok", *["resend_too_soon"] * 5]
    assert channels() == ["whatsapp", "sms"]
    assert ledger.balance(api.company.pk) == (983, 17)


def test_repeat_at_once_by_another_channel_is_in_progress(api: Api) -> None:
    ask(api)
    body = {"phone": PHONE, "channel": "sms"}
    send_by_sms = partial(api.post, "/otp/send", body, Idempotency_Key="once")
    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        Verification.objects.select_for_update().get()
        first = start_blocked(pool, send_by_sms)
        repeat = send_by_sms()

    assert (repeat.status, repeat.code) == (409, "request_in_progress")
    assert first.result().status == 200
    assert channels() == ["whatsapp", "sms"]


@pytest.mark.usefixtures("store")
def test_several_channels_at_once_are_one_message_each(api: Api) -> None:
    ask(api)

    responses = at_once(
        [partial(ask, api, channel="sms"), partial(ask, api, channel="telegram")] * 3
    )

    assert sorted(responses) == ["ok", "ok", *["resend_too_soon"] * 4]
    assert sorted(channels()) == ["sms", "telegram", "whatsapp"]
    assert Verification.objects.count() == 1


def test_refused_send_gives_its_place_back(api: Api) -> None:
    ask(api)
    ledger.withdraw(company=api.company, amount=999, reason="test")

    refused = [ask(api, channel="sms") for _ in range(10)]

    assert refused == ["insufficient_tokens"] * 10
    ledger.grant(company=api.company, amount=100, reason="test")
    assert ask(api, channel="sms") == "ok"


def test_waiting_chain_leaves_out_the_requested_channel(api: Api) -> None:
    enable_fallback(api.company, "whatsapp", "sms")
    waiting = accepted(api).message
    assert ask(api, channel="sms") == "ok"
    age_rows(seconds=31)

    assert sweeps.fall_back() == 1

    waiting.refresh_from_db()
    assert (waiting.channel, waiting.chain, waiting.state) == ("whatsapp", [], "sent")
    assert fallback_events(waiting) == [("taken", "sms")]
    assert transfers(waiting) == [("hold", 1, "")]
    assert [claimed.channel for claimed in claim()] == ["sms"]


def test_refused_message_leaves_out_the_requested_channel(api: Api) -> None:
    enable_fallback(api.company, "whatsapp", "sms", "telegram")
    waiting = accepted(api)
    assert ask(api, channel="sms") == "ok"

    apply_event(waiting, EventKind.REFUSED, code="100")

    waiting.message.refresh_from_db()
    assert (waiting.message.channel, waiting.message.chain) == ("telegram", [])
    assert fallback_events(waiting.message) == [("taken", "sms"), ("refused", "telegram")]


def delivered_by(api: Api, channel: str) -> None:
    """The live code is delivered by this channel too."""
    assert ask(api, channel=channel) == "ok"
    claim()
    apply_event(Attempt.objects.get(channel=channel), EventKind.DELIVERED)


def test_waiting_chain_ends_once_a_newer_message_is_delivered(api: Api) -> None:
    enable_fallback(api.company, "whatsapp", "telegram", "sms")
    waiting = accepted(api).message
    delivered_by(api, "telegram")
    age_rows(seconds=31)

    sweeps.fall_back()

    waiting.refresh_from_db()
    assert (waiting.channel, waiting.chain, waiting.state) == ("whatsapp", [], "sent")
    assert fallback_events(waiting) == [("late", "telegram")]
    assert ledger.balance(api.company.pk) == (998, 1)


def test_refused_message_ends_once_a_newer_one_is_delivered(api: Api) -> None:
    enable_fallback(api.company, "whatsapp", "telegram", "sms")
    waiting = accepted(api)
    delivered_by(api, "telegram")

    apply_event(waiting, EventKind.REFUSED, code="100")

    waiting.message.refresh_from_db()
    assert (waiting.message.state, claim()) == ("failed", [])
    assert ledger.balance(api.company.pk) == (999, 0)


def test_channel_of_a_chain_that_was_reached_is_tried(api: Api) -> None:
    enable_fallback(api.company, "whatsapp", "sms")
    accepted(api)
    age_rows(seconds=31)
    sweeps.fall_back()
    ask(api)  # takes the cool-down

    assert ask(api, channel="sms") == "resend_too_soon"


def test_concurrent_fallback_and_request_make_one_message(api: Api) -> None:
    enable_fallback(api.company, "whatsapp", "sms")
    for n in range(8):
        phone = f"+7916111{n:04d}"
        message = accepted(api, phone).message
        Message.objects.filter(pk=message.pk).update(fallback_at=message.created_at)

        calls: list[Callable[[], object]] = [
            sweeps.fall_back,
            partial(api.post, "/otp/send", {"phone": phone, "channel": "sms"}),
        ]
        at_once(calls)

        sent = Message.objects.filter(phone=phone)
        assert [row.channel for row in sent].count("sms") == 1


def test_first_send_starts_the_cool_down(api: Api) -> None:
    assert ask(api, channel="sms") == "ok"
    assert ask(api) == "resend_too_soon"
    assert Attempt.objects.count() == 0
    assert send(api, "+79161112233").channel == "whatsapp"
