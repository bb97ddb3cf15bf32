"""POST /otp/{id}/next: one step of the chain, or the next channel of the order."""

from functools import partial
from typing import get_type_hints

import pytest
from django.db.models.functions import Now

from accounts.models import Company
from billing.wallet import ledger
from channels.deliver import sweeps
from channels.lifecycle.state_machine import EventKind
from channels.models import Attempt, Message
from channels.routing import stored_rules
from channels.routing.stored_rules import StoredRule
from links.models import Link
from otp.models import Verification
from otp.send.code_request import STORED_FIELDS, CodeSendRequest
from tests.api.clients import Api, ClientOf
from tests.api.races import at_once
from tests.channels.fallback_stages import enable_fallback, fallback_events, transfers
from tests.channels.message_stages import PHONE, accepted, apply_event, claim
from tests.factories import VerificationFactory
from tests.otp.next_steps import outcome, sent, step
from tests.otp.sent_codes import age_rows, code_of, wrong_code

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("balanced_books", "no_call_waits"),
]


def test_chain_takes_its_next_step_at_once(api: Api) -> None:
    enable_fallback(api.company, "whatsapp", "sms")
    verification = sent(api)

    response = step(api, verification)

    message = Message.objects.get()
    assert (response.status, response.body["id"]) == (200, message.public_id)
    shown = [response.body[name] for name in ("channel", "status", "cost", "attempts_left")]
    assert shown == ["sms", "queued", 16, 5]
    assert response.body["verification"] == verification
    assert (message.channel, message.chain, message.hold) == ("sms", [], 2)
    assert fallback_events(message) == [("requested", "sms")]
    assert transfers(message) == [("hold", 1, ""), ("release", 1, "requested"), ("hold", 16, "")]
    assert [claimed.channel for claimed in claim()] == ["sms"]


@pytest.mark.parametrize("next_channel", ["max", "telegram", "sms"])
def test_sent_message_is_charged_though_the_next_channel_fails(api: Api, next_channel: str) -> None:
    """Otherwise a company that asks for the next channel at once would pay for no message."""
    enable_fallback(api.company, "whatsapp", next_channel)
    attempt = accepted(api)
    response = step(api, str(Verification.objects.get()))
    (other,) = claim()

    attempt_of_other = Attempt.objects.get(pk=other.attempt_id)
    apply_event(attempt_of_other, EventKind.UNREACHABLE)
    apply_event(attempt, EventKind.DELIVERED)

    assert outcome(response) == other.channel == next_channel
    first = Message.objects.earliest("id")
    assert transfers(first) == [("hold", 1, ""), ("capture", 1, "receipt")]
    assert ledger.balance(api.company.pk) == (999, 0)


def test_step_keeps_the_hold_of_a_sent_message(api: Api) -> None:
    enable_fallback(api.company, "sms", "whatsapp", "telegram")
    attempt = accepted(api)
    verification = str(Verification.objects.get())

    outcomes = [outcome(step(api, verification)) for _ in range(3)]

    first, *others = Message.objects.order_by("id")
    assert outcomes == ["whatsapp", "telegram", "max"]
    assert [row.channel for row in others] == outcomes
    assert transfers(first) == [("hold", 16, "")]
    assert ledger.balance(api.company.pk) == (1000 - 16 - 3, 16 + 3)
    Message.objects.filter(pk=first.pk).update(fallback_at=first.created_at)
    sweeps.fall_back()  # finds both channels taken
    apply_event(attempt, EventKind.DELIVERED)
    assert transfers(first) == [("hold", 16, ""), ("capture", 16, "receipt")]
    assert Message.objects.count() == 4


def test_step_to_cheaper_channel_moves_the_hold(
    api: Api,
) -> None:
    enable_fallback(api.company, "sms", "whatsapp")
    verification = sent(api)

    assert outcome(step(api, verification)) == "whatsapp"

    message = Message.objects.get()
    assert (message.channel, message.price, message.hold) == ("whatsapp", 1, 2)
    assert ledger.balance(api.company.pk) == (999, 1)


def test_steps_follow_each_other_to_the_end(api: Api) -> None:
    enable_fallback(api.company, "whatsapp", "telegram", "sms")
    verification = sent(api)

    responses = []
    for _ in range(4):
        claim()
        responses.append(outcome(step(api, verification)))

    assert responses == ["telegram", "sms", "max", "channel_unavailable"]
    assert Message.objects.count() == 4  # each vendor may have the one before


@pytest.mark.parametrize("channels", [None, ["whatsapp", "sms", "telegram"]])
def test_step_uses_no_channel_above_the_price_cap_of_the_chain(
    api: Api, channels: list[str] | None
) -> None:
    """The chain skipped it: a person's press must not spend what the company ruled out."""
    enable_fallback(api.company, "whatsapp", "sms", fallback_max_cost=5)
    verification = sent(api, channels=channels)
    claim()

    responses: list[str] = []
    while not responses or responses[-1] != "channel_unavailable":
        responses.append(outcome(step(api, verification)))
        claim()

    assert responses[0] == "telegram"
    assert "sms" not in responses


def test_code_without_chain_uses_next_channel_in_order(api: Api) -> None:
    verification = sent(api)

    responses = [step(api, verification) for _ in range(4)]

    assert [*map(outcome, responses)] == ["telegram", "sms", "max", "channel_unavailable"]
    assert "Другого канала" in responses[3].body["message"]
    channels = Message.objects.order_by("id").values_list("channel", flat=True)
    assert list(channels) == ["whatsapp", "telegram", "sms", "max"]
    assert Verification.objects.count() == 1


def test_barred_channels_are_left_out(api: Api) -> None:
    rules = [StoredRule(channels=["sms", "whatsapp"], barred=["telegram"])]
    stored_rules.replace_rules(company=api.company, rules=rules, user=None)
    verification = sent(api)
    claim()

    outcomes = [outcome(step(api, verification)) for _ in range(3)]

    assert outcomes == ["whatsapp", "channel_unavailable", "channel_unavailable"]


def test_order_of_the_send_has_no_others(api: Api) -> None:
    verification = sent(api, channels=["sms", "telegram"])
    responses = []
    for _ in range(3):
        claim()
        responses.append(outcome(step(api, verification)))

    assert responses == ["telegram", *["channel_unavailable"] * 2]


@pytest.mark.parametrize("fields", [{}, {"link_expires_in": 600}, {"link_until": "code"}])
def test_next_message_has_a_link_to_the_same_target(api: Api, fields: dict[str, object]) -> None:
    Company.objects.update(link_utm="utm_medium={channel}")
    verification = sent(api, channel="sms", link="https://example.com/offer", **fields)

    response = step(api, verification)

    first, second = Link.objects.order_by("id")
    message = Message.objects.latest("id")
    assert response.body["short_url"] == message.params["short_url"] == second.short_url
    assert second.message_id == message.pk
    same = ("url", "utm", "expired_url", "is_once", "dies_with_code")
    assert [getattr(second, name) for name in same] == [getattr(first, name) for name in same]
    ends = [link.expires_at.timestamp() if link.expires_at else 0 for link in (first, second)]
    assert ends[1] == pytest.approx(ends[0], abs=2)


def test_next_message_has_no_link_in_place_of_a_closed_one(api: Api) -> None:
    verification = sent(api, link="https://example.com/offer")
    Link.objects.update(disabled_at=Now())

    response = step(api, verification)

    assert (response.status, response.body.get("short_url")) == (200, None)
    assert Link.objects.count() == 1


def test_latest_named_order_counts(test_api: Api) -> None:
    verification = sent(test_api, channels=["sms", "telegram"])
    sent(test_api, channels=["max", "whatsapp"])
    sent(test_api)

    assert outcome(step(test_api, verification)) == "channel_unavailable"


def test_next_message_keeps_request_fields(api: Api) -> None:
    types = get_type_hints(CodeSendRequest)
    is_text = {name: types[name] in {str, str | None} for name in STORED_FIELDS}
    kept = {
        name: "{code}" if is_text[name] else {"url": "/", "endpoint": ""} for name in STORED_FIELDS
    }
    verification = sent(api)
    first = Message.objects.get()
    Message.objects.update(params=first.params | kept)

    assert step(api, verification).status == 200

    following = Message.objects.order_by("id").last()
    assert following is not None
    assert kept.items() <= following.params.items()


@pytest.mark.parametrize("balance", [0, 14])  # and one token returns
def test_step_that_is_not_paid_changes_nothing(api: Api, balance: int) -> None:
    enable_fallback(api.company, "whatsapp", "sms")
    verification = sent(api)
    ledger.withdraw(company=api.company, amount=999 - balance, reason="test")

    response = step(api, verification)

    message = Message.objects.get()
    assert (response.code, response.body["required"]) == ("insufficient_tokens", 16)
    assert (message.channel, len(message.chain), message.hold) == ("whatsapp", 1, 1)


def test_step_names_the_limit_of_the_key_that_pays(api: Api, client_of: ClientOf) -> None:
    enable_fallback(api.company, "whatsapp", "sms")
    verification = sent(client_of(api.company, day_limit=5))

    answer = step(api, verification)

    assert (answer.code, answer.body["limit"]["kind"]) == ("send_limit", "key_day")


def test_number_that_falls_back_has_a_next_channel(test_api: Api) -> None:
    verification = sent(test_api, phone="+79990000009")

    steps = [outcome(step(test_api, verification)) for _ in range(2)]

    assert steps == ["telegram", "whatsapp"]


def test_next_channel_keeps_the_attempts_left(api: Api) -> None:
    verification = sent(api)
    api.post("/otp/verify", {"phone": PHONE, "code": wrong_code(PHONE)})

    assert step(api, verification).body["attempts_left"] == 4
    assert api.post("/otp/verify", {"phone": PHONE, "code": code_of(PHONE)}).status == 200


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"verified_at": "2026-01-01T00:00:00Z"}, "code_used"),
        ({"superseded_at": "2026-01-01T00:00:00Z"}, "code_expired"),
        ({"attempts": 5}, "too_many_attempts"),
    ],
)
def test_ended_code_is_not_sent(api: Api, change: dict[str, object], code: str) -> None:
    verification = sent(api)
    Verification.objects.update(**change)

    assert step(api, verification).code == code
    assert Message.objects.count() == 1


def test_expired_code_is_not_sent(api: Api) -> None:
    verification = sent(api)
    age_rows(seconds=301)

    assert step(api, verification).code == "code_expired"


def test_cancelled_code_is_not_sent(api: Api) -> None:
    verification = sent(api)
    api.call("DELETE", f"/otp/{verification}")

    assert step(api, verification).code == "code_expired"


@pytest.mark.parametrize("chain", [(), ("whatsapp", "sms", "telegram")])
def test_repeat_with_the_key_is_one_step(api: Api, chain: tuple[str, ...]) -> None:
    if chain:
        enable_fallback(api.company, *chain)
    verification = sent(api)

    first, second = (step(api, verification, Idempotency_Key="once") for _ in range(2))

    assert first.status == 200
    assert second.raw == first.raw
    assert second.headers["Idempotent-Replayed"] == "true"
    assert {row.hold for row in Message.objects.all()} == ({2} if chain else {1})


@pytest.mark.parametrize("chain", [(), ("whatsapp", "telegram", "sms")])
def test_repeats_of_calls_at_once_take_no_further_step(api: Api, chain: tuple[str, ...]) -> None:
    """The later call, too, is answered with the step of the first, and its repeat with that."""
    if chain:
        enable_fallback(api.company, *chain)
    verification = sent(api)
    calls = [partial(step, api, verification, Idempotency_Key=key) for key in ("one", "two")]

    responses = at_once(calls)

    assert {response.status for response in responses} == {200}
    assert [call().raw for call in calls] == [response.raw for response in responses]


def test_ended_code_without_messages_has_no_next(api: Api) -> None:
    """Its messages may be in a month that was archived."""
    verification = VerificationFactory.create(company=api.company, attempts=5)

    assert step(api, verification.public_id).code == "too_many_attempts"


def test_little_time_left_makes_no_new_code(api: Api) -> None:
    verification = sent(api)
    age_rows(seconds=250)

    response = step(api, verification)

    assert (response.code, response.body["message"]) == (
        "code_expired",
        "До конца срока кода осталось слишком мало: отправьте новый",
    )
    assert Verification.objects.count() == Message.objects.count() == 1
    assert Attempt.objects.count() == 0
