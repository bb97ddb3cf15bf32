"""A service in order, and a chat of the operators."""

from collections.abc import Iterator
from datetime import timedelta

import orjson
import pytest
import responses
from django.utils import timezone
from pytest_django import Settings

from channels.models import Heartbeat
from operator_admin.alerts import notifications
from tests.channels.accounts import set_account

TOKEN = "42:operators-token"
CHAT = "-1001234567890"
URL = f"https://telegram.test/bot{TOKEN}/sendMessage"


def write_heartbeat(kind: str, *, age: float = 0.0, **details: int) -> Heartbeat:
    at = timezone.now() - timedelta(seconds=age)
    return Heartbeat.objects.update_or_create(
        process=f"{kind} 1", defaults={"kind": kind, "at": at, "details": details}
    )[0]


@pytest.fixture
def service(transactional_db: None) -> None:
    for kind in ("web", "delivery", "beat"):
        write_heartbeat(kind)


@pytest.fixture
def telegram(settings: Settings) -> Iterator[responses.RequestsMock]:
    settings.OPERATOR_TELEGRAM_BOT_TOKEN = TOKEN
    settings.OPERATOR_TELEGRAM_CHAT_ID = CHAT
    set_account(settings, "telegram_bot", {"api_url": "https://telegram.test"})
    notifications._bot.cache_clear()
    with responses.RequestsMock(assert_all_requests_are_fired=False) as wire:
        yield wire
    notifications._bot.cache_clear()


def accept(wire: responses.RequestsMock) -> None:
    wire.post(URL, json={"ok": True, "result": {"message_id": 1}})


def texts(wire: responses.RequestsMock) -> list[str]:
    return [orjson.loads(b"".join(call.request.body))["text"] for call in wire.calls]  # type: ignore[arg-type]
