"""Fallback events on the timeline and in the API."""

import pytest

from billing.wallet import ledger
from channels.deliver import sweeps
from channels.history.timeline import timeline
from channels.lifecycle.state_machine import EventKind
from channels.models import Message
from tests.api.clients import Api
from tests.channels.fallback_stages import fallen_back, handed_over, past_patience
from tests.channels.message_stages import apply_event

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("falls_back")]


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
    assert [(item["channel"], item["status"], item["error_code"]) for item in body["timeline"]] == [
        ("whatsapp", "delivered", "patience")
    ]
    assert [(item["event"], item["channel"]) for item in body["fallback"]] == [
        ("patience", "sms"),
        ("late", "sms"),
    ]
