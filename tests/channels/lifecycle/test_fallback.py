"""Fallback after a channel's patience: the next channel, its hold, and late proof."""

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from billing.wallet import ledger
from channels import reconciliation
from channels.deliver import sweeps
from channels.history.timeline import timeline
from channels.lifecycle.state_machine import Event, EventKind
from channels.models import Attempt, Message
from channels.outcomes import transitions
from tests.api.clients import Api
from tests.channels.fallback_stages import (
    MOVED,
    URL,
    enable_fallback,
    fallback_events,
    fallen_back,
    handed_over,
    past_patience,
    transfers,
    tries,
)
from tests.channels.message_stages import PHONE, accepted, apply_event, claim, send, submitted
from tests.factories import EndpointFactory
from tests.otp.sent_codes import age_rows
from webhooks.models import Event as CompanyEvent

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("falls_back")]


def patience(message: Message) -> int:
    assert message.fallback_at is not None
    return round((message.fallback_at - message.created_at).total_seconds())


def test_acceptance_stores_the_chain_and_its_patience(api: Api) -> None:
    message = send(api)

    assert message.chain == [{"channel": "sms", "price": 16, "patience": 30.0}]
    assert patience(message) == 30
    assert (message.channel, message.price, message.segments) == ("whatsapp", 1, 1)
    assert ledger.balance(api.company.pk) == (999, 1)


def test_chain_adds_no_query_to_a_send(
    api: Api, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    api.get("/balance")  # the key is known from here on

    with django_assert_num_queries(1):
        assert api.post("/otp/send", {"phone": PHONE}).status == 200


def test_named_channel_has_no_chain(api: Api) -> None:
    message = send(api, channel="whatsapp")

    assert (message.chain, message.fallback_at) == ([], None)


def test_patience_depends_on_kind_and_company(api: Api) -> None:
    enable_fallback(api.company, "whatsapp", "sms", patience={"whatsapp": 45})
    code = send(api)
    enable_fallback(api.company, "telegram", "sms", default_channel="telegram")
    api.post("/links/send", {"phone": PHONE, "url": URL})
    link = Message.objects.get(kind="link")

    assert (patience(code), patience(link)) == (45, 120)
    assert link.chain == [{"channel": "sms", "price": 16, "patience": 120.0}]


def test_expired_patience_falls_back_to_sms(api: Api) -> None:
    attempt = accepted(api)
    age_rows(seconds=29)
    assert sweeps.fall_back() == 0
    age_rows(seconds=2)

    sweeps.sweep()
    sweeps.sweep()

    message = attempt.message
    message.refresh_from_db()
    assert (message.state, message.channel, message.price, message.hold) == ("sent", "sms", 16, 2)
    assert (message.chain, message.fallback_at) == ([], None)
    assert (tries(message), fallback_events(message)) == (
        [("whatsapp", "expired")],
        [("patience", "sms")],
    )
    assert transfers(message) == MOVED
    assert ledger.balance(api.company.pk) == (984, 16)
    (claimed,) = claim()
    assert claimed.provider == "twilio"
    apply_event(Attempt.objects.get(n=2), EventKind.DELIVERED)
    message.refresh_from_db()
    assert (message.state, message.channel, message.price) == ("delivered", "sms", 16)
    assert ledger.balance(api.company.pk) == (984, 0)


def test_each_step_has_its_own_patience(api: Api) -> None:
    enable_fallback(api.company, "whatsapp", "telegram", "sms", patience={"telegram": 20})
    message = past_patience(api).message
    sweeps.fall_back()
    message.refresh_from_db()
    assert message.fallback_at is not None
    left = message.fallback_at - timezone.now()
    assert timedelta(seconds=15) < left <= timedelta(seconds=20)
    age_rows(seconds=21)

    sweeps.fall_back()

    message = Message.objects.get()
    assert (message.channel, message.hold, message.fallback_at) == ("sms", 3, None)
    assert [kind for kind, *_ in transfers(message)] == ["hold", "release"] * 2 + ["hold"]
    assert ledger.balance(api.company.pk) == (984, 16)


@pytest.mark.parametrize("how", ["never claimed", "under way", "outcome unknown"])
def test_patience_expires_in_any_attempt_state(api: Api, how: str) -> None:
    message = send(api) if how == "never claimed" else submitted(api).message
    if how == "outcome unknown":
        apply_event(message.attempts.get(), EventKind.AMBIGUOUS)
    age_rows(seconds=31)

    sweeps.fall_back()

    message.refresh_from_db()
    assert (message.state, message.channel, transfers(message)) == ("queued", "sms", MOVED)
    assert tries(message) == ([] if how == "never claimed" else [("whatsapp", "expired")])
    assert [claimed.provider for claimed in claim()] == ["twilio"]
    apply_event(message.attempts.latest("n"), EventKind.DELIVERED)
    assert ledger.balance(api.company.pk) == (984, 0)


def test_message_near_its_end_does_not_fall_back(api: Api) -> None:
    attempt = accepted(api)
    age_rows(seconds=280)

    sweeps.sweep()

    message = attempt.message
    message.refresh_from_db()
    assert (message.channel, message.chain, fallback_events(message)) == (
        "whatsapp",
        [],
        [("time", "sms")],
    )
    assert ledger.balance(api.company.pk) == (999, 1)


def test_late_delivery_cancels_an_unclaimed_sms(api: Api) -> None:
    first = fallen_back(api)

    apply_event(first, EventKind.DELIVERED)

    message = first.message
    message.refresh_from_db()
    assert (message.state, message.channel, message.price) == ("delivered", "whatsapp", 1)
    assert (message.due_at, claim(), message.is_owed) == (None, [], False)
    assert transfers(message) == [*MOVED, ("release", 16, "late proof")]
    assert fallback_events(message) == [("patience", "sms"), ("late", "sms")]
    assert ledger.balance(api.company.pk) == (1000, 0)


@pytest.mark.parametrize(
    ("what", "money", "balance", "shown"),
    [
        (EventKind.DELIVERED, ("capture", 16, "receipt"), (984, 0), ("sms", 16)),
        (EventKind.REFUSED, ("release", 16, "failed"), (1000, 0), ("whatsapp", 1)),
    ],
)
def test_late_delivery_keeps_an_sms_that_the_vendor_has(
    api: Api,
    what: EventKind,
    money: tuple[str, int, str],
    balance: tuple[int, int],
    shown: tuple[str, int],
) -> None:
    first, second = handed_over(api)

    apply_event(first, EventKind.DELIVERED)

    message = first.message
    message.refresh_from_db()
    assert (message.state, message.is_owed, transfers(message)) == ("delivered", True, MOVED)
    assert ledger.balance(api.company.pk) == (984, 16)
    assert list(reconciliation.breaches()) == []
    apply_event(second, what)
    message.refresh_from_db()
    assert (message.state, message.is_owed) == ("delivered", False)
    assert (message.channel, message.price) == shown
    assert transfers(message) == [*MOVED, money]
    assert ledger.balance(api.company.pk) == balance


def test_late_delivery_after_a_failure_names_its_own_channel(api: Api) -> None:
    first, second = handed_over(api)
    apply_event(second, EventKind.REFUSED)

    apply_event(first, EventKind.DELIVERED)

    message = first.message
    message.refresh_from_db()
    assert (message.state, message.channel, message.price) == ("delivered", "whatsapp", 1)
    assert ledger.balance(api.company.pk) == (1000, 0)


def test_owed_hold_is_released_at_the_deadline(api: Api) -> None:
    first, second = handed_over(api)
    apply_event(first, EventKind.DELIVERED)
    age_rows(seconds=600)

    sweeps.sweep()

    message = first.message
    message.refresh_from_db()
    assert (message.state, message.is_owed) == ("delivered", False)
    assert tries(message) == [("whatsapp", "delivered"), ("sms", "expired")]
    apply_event(second, EventKind.DELIVERED)
    assert transfers(message) == [*MOVED, ("release", 16, "expired")]
    assert ledger.balance(api.company.pk) == (1000, 0)


def test_two_deliveries_charge_the_open_hold_once(api: Api) -> None:
    first, second = handed_over(api)

    transitions.commit_events(
        [
            Event(second.message_id, second.id, EventKind.DELIVERED),
            Event(first.message_id, first.id, EventKind.READ),
        ]
    )

    assert transfers(first.message) == [*MOVED, ("capture", 16, "receipt")]
    assert ledger.balance(api.company.pk) == (984, 0)


def test_fallback_without_tokens_keeps_the_first_attempt(api: Api) -> None:
    ledger.withdraw(company=api.company, amount=985, reason="test")
    attempt = past_patience(api)
    assert ledger.balance(api.company.pk) == (14, 1)

    sweeps.sweep()
    sweeps.sweep()

    message = attempt.message
    message.refresh_from_db()
    assert (message.state, message.channel, message.price) == ("sent", "whatsapp", 1)
    assert (message.fallback_at, fallback_events(message)) == (None, [("tokens", "sms")])
    assert ledger.balance(api.company.pk) == (14, 1)
    apply_event(attempt, EventKind.DELIVERED)
    assert transfers(message) == [("hold", 1, ""), ("capture", 1, "receipt")]
    assert ledger.balance(api.company.pk) == (14, 0)


def test_released_hold_counts_towards_the_new_one(api: Api) -> None:
    ledger.withdraw(company=api.company, amount=984, reason="test")
    past_patience(api)
    assert ledger.balance(api.company.pk) == (15, 1)

    sweeps.fall_back()

    assert ledger.balance(api.company.pk) == (0, 16)


def test_as_many_messages_fall_back_as_the_balance_pays_for(api: Api) -> None:
    ledger.withdraw(company=api.company, amount=960, reason="test")
    phones = [f"+7916123456{n}" for n in range(4)]
    for phone in phones:
        accepted(api, phone)
    age_rows(seconds=31)

    sweeps.fall_back()

    channels = sorted(Message.objects.values_list("channel", flat=True))
    assert channels == ["sms", "sms", "whatsapp", "whatsapp"]
    assert ledger.balance(api.company.pk) == (6, 34)


def test_cheaper_fallback_is_paid_first(api: Api) -> None:
    ledger.withdraw(company=api.company, amount=998, reason="test")
    dear = accepted(api, "+79161234560").message
    enable_fallback(api.company, "whatsapp", "telegram")
    cheap = accepted(api, "+79161234561").message
    age_rows(seconds=31)

    sweeps.fall_back()

    assert (fallback_events(dear), fallback_events(cheap)) == (
        [("tokens", "sms")],
        [("patience", "telegram")],
    )
    assert ledger.balance(api.company.pk) == (0, 2)


def test_step_over_the_cost_cap_is_skipped(api: Api) -> None:
    enable_fallback(api.company, "whatsapp", "sms", "telegram", fallback_max_cost=15)

    assert [step["channel"] for step in send(api).chain] == ["telegram"]


def test_webhook_events_have_the_final_channel_and_cost(api: Api) -> None:
    EndpointFactory.create(company=api.company)
    _first, second = handed_over(api)

    apply_event(second, EventKind.DELIVERED)

    event_data = CompanyEvent.objects.get(kind="message.delivered").data
    assert (event_data["channel"], event_data["cost"], event_data["segments"]) == ("sms", 16, 1)


def test_fallen_back_message_expires_at_its_deadline(api: Api) -> None:
    first, _second = handed_over(api)
    age_rows(seconds=600)

    sweeps.sweep()

    message = first.message
    message.refresh_from_db()
    assert (message.state, message.channel) == ("expired", "sms")
    assert ledger.balance(api.company.pk) == (1000, 0)


def timeline_titles(message: Message) -> list[str]:
    return [str(step.title) for step in timeline(message)]


def test_timeline_shows_a_fallback(api: Api) -> None:
    first, second = handed_over(api)
    apply_event(first, EventKind.DELIVERED)
    apply_event(second, EventKind.DELIVERED)

    assert timeline_titles(first.message) == [
        "Принято к отправке",
        "Удержан 1 токен",
        "Передано в WhatsApp",
        "WhatsApp: сообщение принято",
        "Не подтверждено вовремя\u00a0— дальше через SMS",
        "Возвращён 1 токен",
        "Удержано 16 токенов",
        "Передано оператору SMS",
        "SMS: сообщение принято",
        "Всё-таки доставлено, но SMS уже принял сообщение",
        "Списано 16 токенов",
    ]


def test_timeline_shows_why_the_chain_ended(api: Api) -> None:
    ledger.withdraw(company=api.company, amount=990, reason="test")
    message = past_patience(api).message

    sweeps.fall_back()

    assert timeline_titles(message)[-1] == "На SMS не хватает токенов"


def test_api_shows_attempts_and_turns(api: Api) -> None:
    first = fallen_back(api)
    apply_event(first, EventKind.DELIVERED)

    body = api.get(f"/messages/{first.message.public_id}").body

    assert (body["status"], body["channel"], body["cost"]) == ("delivered", "whatsapp", 1)
    assert [(step["channel"], step["status"], step["error_code"]) for step in body["timeline"]] == [
        ("whatsapp", "delivered", "patience")
    ]
    assert [(event["event"], event["channel"]) for event in body["fallback"]] == [
        ("patience", "sms"),
        ("late", "sms"),
    ]
