"""Notices reach Telegram once it answers, as one message, and never quote the token."""

from datetime import timedelta

import pytest
import responses
from django.utils import timezone
from pytest_django import Settings

from accounts.models import Mail
from operator_admin.alerts import notifications
from operator_admin.models import Alert, TelegramNotice
from tests.operator_admin.alerts.conftest import CHAT, TOKEN, URL, accept, texts

pytestmark = pytest.mark.django_db(transaction=True)


def alert(rule: str = "queue-stands", **fields: object) -> Alert:
    details = {"due": 12, "age": 95, "reason": "20003: Authenticate"}
    values = {
        "details": details,
        "began_at": timezone.now(),
        "due_at": timezone.now(),
        "notices": 1,
    }
    return Alert.objects.create(rule=rule, **values | fields)


def make_due() -> None:
    TelegramNotice.objects.update(due_at=timezone.now() - timedelta(seconds=1))


def test_notice_names_problem_and_remedy(telegram: responses.RequestsMock) -> None:
    accept(telegram)

    notifications.append([alert()], [alert("web-silent", ended_at=timezone.now())])
    assert notifications.deliver_telegram()

    (text,) = texts(telegram)
    assert "✗ Сообщения ждут отправки\nЖдут: 12; самое старое\u00a0— 95\u00a0с." in text
    assert "Что делать:" in text
    assert "/admin/alerts/#queue-stands" in text
    assert "✓ Закончилось:" in text
    assert not TelegramNotice.objects.exists()


def test_language_is_the_settings(telegram: responses.RequestsMock, settings: Settings) -> None:
    settings.OPERATOR_LANGUAGE = "en"
    settings.OPERATOR_EMAILS = ["ops@example.com"]
    accept(telegram)

    notifications.append([alert()], [])
    notifications.deliver_telegram()

    assert "Messages wait to be sent" in texts(telegram)[0]
    assert Mail.objects.get().subject == "Kvitok: Messages wait to be sent"
    assert Mail.objects.get().to == "ops@example.com"


def test_waiting_alerts_go_to_telegram_as_one_message(telegram: responses.RequestsMock) -> None:
    telegram.post(URL, body=ConnectionError("down"))
    for rule in ("queue-stands", "web-silent"):
        notifications.append([alert(rule, details={"due": 1, "age": 2})], [])
    with pytest.raises(ConnectionError):
        notifications.deliver_telegram()  # a crash, as after kill -9: the lease runs out
    make_due()
    telegram.reset()
    accept(telegram)

    assert notifications.deliver_telegram()
    assert not notifications.deliver_telegram()

    (text,) = texts(telegram)
    assert "Сообщения ждут" in text
    assert "Ни один веб-процесс" in text


def test_refusing_telegram_is_called_less_often(telegram: responses.RequestsMock) -> None:
    telegram.post(
        URL, status=400, json={"ok": False, "error_code": 400, "description": "chat gone"}
    )
    notifications.append([alert()], [])

    waits = []
    for _ in range(3):
        assert not notifications.deliver_telegram()
        notice = TelegramNotice.objects.get()
        waits.append(round((notice.due_at - timezone.now()).total_seconds() / 60))
        make_due()

    assert waits == [1, 2, 5]
    assert "chat gone" in TelegramNotice.objects.get().error
    TelegramNotice.objects.update(created_at=timezone.now() - timedelta(days=2))
    notifications.deliver_telegram()
    assert not TelegramNotice.objects.exists()


def test_error_never_holds_the_token(telegram: responses.RequestsMock) -> None:
    telegram.post(
        URL, status=400, json={"ok": False, "error_code": 400, "description": f"no {TOKEN}"}
    )
    notifications.append([alert()], [])

    notifications.deliver_telegram()

    assert TOKEN not in TelegramNotice.objects.get().error


def test_throttling_is_heeded(telegram: responses.RequestsMock) -> None:
    response = {"ok": False, "error_code": 429, "parameters": {"retry_after": 900}}
    telegram.post(URL, status=429, json=response)
    notifications.append([alert()], [])

    notifications.deliver_telegram()

    wait = TelegramNotice.objects.get().due_at - timezone.now()
    assert wait > timedelta(minutes=14)


def test_alert_storm_fits_telegram_limit(telegram: responses.RequestsMock) -> None:
    accept(telegram)

    notifications.append(
        [alert("balance-low", subject=f"x{n}", details={"reason": "0" * 90}) for n in range(60)], []
    )
    notifications.deliver_telegram()

    assert len(texts(telegram)[0]) <= 4096


def test_paused_account_is_mailed_by_its_own_email_first(settings: Settings) -> None:
    settings.OPERATOR_EMAILS = ["ops@example.com"]

    notifications.append([alert("provider-paused", subject="twilio")], [])
    assert not Mail.objects.exists()

    notifications.append([alert("provider-paused", subject="smsc", notices=2)], [])
    assert Mail.objects.count() == 1


def test_alert_without_chat_is_not_kept() -> None:
    notifications.append([alert()], [])

    assert not notifications.deliver_telegram()
    assert not TelegramNotice.objects.exists()


def test_channel_is_written_to_by_its_name(
    telegram: responses.RequestsMock, settings: Settings
) -> None:
    accept(telegram)
    bot = notifications.chat()
    assert bot is not None

    bot.notify("@kvitok_ops", "a")
    bot.notify(CHAT, "b")

    bodies = [b"".join(call.request.body) for call in telegram.calls]  # type: ignore[arg-type]
    assert b'"chat_id":"@kvitok_ops"' in bodies[0]
    assert b'"chat_id":-1001234567890' in bodies[1]


def test_group_that_became_a_supergroup_is_followed(telegram: responses.RequestsMock) -> None:
    moved = {
        "ok": False,
        "error_code": 400,
        "description": "Bad Request: group chat was upgraded to a supergroup chat",
        "parameters": {"migrate_to_chat_id": -1009876543210},
    }
    telegram.post(URL, status=400, json=moved)
    accept(telegram)
    notifications.append([alert()], [])

    assert notifications.deliver_telegram()

    bodies = [b"".join(call.request.body) for call in telegram.calls]  # type: ignore[arg-type]
    assert b'"chat_id":-1009876543210' in bodies[1]
    assert not TelegramNotice.objects.exists()
