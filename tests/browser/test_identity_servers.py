"""Identity servers are connected, tried and revoked."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from channels.models import Message
from identity_hooks.models import Hook
from tests.browser.signing_in import sign_in

pytestmark = pytest.mark.django_db(transaction=True)
PHONE = "+79990000000"


def connect(page: Page, server: str) -> str:
    """Connects a server; returns the secret that the page shows once."""
    page.get_by_role("link", name="Серверы входа").click()
    page.get_by_role("link", name=server).click()
    page.get_by_label("Название").fill("Проба")
    page.get_by_label("Тестовый").check()
    page.get_by_role("button", name="Создать подключение").click()
    secret = page.locator("#new-secret").inner_text()
    expect(page.locator("#piece-1")).to_contain_text(secret)
    page.get_by_role("button", name="Копировать").first.click()
    expect(page.get_by_role("button", name="Скопировано")).to_be_visible()
    page.get_by_role("link", name="Секрет сохранён").click()
    return secret


def play(page: Page, phone: str) -> None:
    page.get_by_label("Телефон").fill(phone)
    page.get_by_role("button", name="Имитировать вызов сервера").click()


def test_server_is_connected_tried_and_revoked(
    page: Page, live_server: LiveServer, queued_at_once: None
) -> None:
    sign_in(page, live_server)
    secret = connect(page, "Logto")
    assert secret.startswith("kvh_")
    assert secret not in page.content()

    play(page, "+7")
    expect(
        page.get_by_text("Такого номера не бывает").or_(page.locator("#id_phone_error"))
    ).to_be_visible()
    assert not Message.objects.exists()
    play(page, PHONE)
    expect(page.locator("#trial .state")).to_have_text("Серверу ответили: отправлено")
    assert Message.objects.get().phone == PHONE

    page.get_by_role("link", name="Заменить секрет").click()
    page.get_by_label("Секрет самого сервера").fill("коротко")
    page.get_by_role("button", name="Заменить").click()
    expect(page.get_by_text("Это не секрет этого сервера")).to_be_visible()
    page.get_by_label("Секрет самого сервера").fill("")
    page.get_by_role("button", name="Заменить").click()
    assert page.locator("#new-secret").inner_text() not in {secret, ""}
    page.get_by_role("link", name="Секрет сохранён").click()
    expect(page.get_by_text("Прежний принимается до")).to_be_visible()

    page.get_by_role("link", name="Отозвать").click()
    page.get_by_role("button", name="Отозвать").click()
    expect(page.get_by_text("Подключение отозвано")).to_be_visible()
    assert Hook.objects.get().revoked_at is not None


def test_mapping_is_checked_when_it_is_saved(page: Page, live_server: LiveServer) -> None:
    sign_in(page, live_server)
    connect(page, "Другой сервер")

    page.get_by_role("link", name="Изменить").click()
    page.get_by_label("Разметка").fill('{"phone": "/to"}')
    page.get_by_role("button", name="Сохранить").click()
    expect(page.get_by_text("Укажите, где код, текст или ссылка")).to_be_visible()
    page.get_by_label("Разметка").fill('{"phone": "/to", "code": "data.code"}')
    page.get_by_label("Первый канал").select_option("sms")
    page.get_by_role("button", name="Сохранить").click()
    expect(page.get_by_text("Изменения сохранены")).to_be_visible()

    stored = Hook.objects.get()
    assert (stored.mapping, stored.channels) == ({"phone": "/to", "code": "data.code"}, ["sms"])
