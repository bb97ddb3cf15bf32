"""An address for webhooks is set up, breaks and works again."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.browser.signing_in import confirm, sign_in
from tests.webhooks.conftest import running_dispatcher
from tests.webhooks.receivers import Receiver
from webhooks.dispatcher import WebhookDispatcher
from webhooks.models import Delivery

__all__ = ["running_dispatcher"]  # the fixture
pytestmark = pytest.mark.django_db(transaction=True)


def add_address(page: Page, receiver: Receiver) -> str:
    """Adds an address; returns the secret that the page shows once."""
    page.get_by_role("link", name="Вебхуки").click()
    page.get_by_role("link", name="Добавить адрес").click()
    page.get_by_label("Адрес", exact=True).fill(receiver.url)
    page.get_by_label("Описание").fill("Проба")
    page.get_by_role("button", name="Добавить адрес").click()
    confirm(page)
    page.get_by_role("button", name="Добавить адрес").click()
    secret = page.locator("#new-secret").inner_text()
    page.get_by_role("button", name="Копировать").first.click()
    expect(page.get_by_role("button", name="Скопировано")).to_be_visible()
    page.get_by_role("link", name="Секрет сохранён").click()
    return secret


def send_example(page: Page, kind: str) -> None:
    page.get_by_label("Событие").select_option(kind)
    page.get_by_role("button", name="Отправить").click()


def state(page: Page, words: str) -> None:
    expect(page.locator("#delivery-status .state")).to_have_text(words)


def test_receiver_is_set_up_breaks_and_is_mended(
    page: Page, live_server: LiveServer, running_dispatcher: WebhookDispatcher, receiver: Receiver
) -> None:
    sign_in(page, live_server)
    secret = add_address(page, receiver)
    assert secret.startswith("whsec_")
    assert secret not in page.content()

    send_example(page, "message.delivered")
    state(page, "принято")
    assert receiver.calls[0].verified(secret)["type"] == "message.delivered"

    receiver.status = 500
    receiver.response = b"out of order"
    page.get_by_role("link", name=receiver.url).click()
    send_example(page, "otp.verified")
    expect(page.get_by_text("Ответ 500").first).to_be_visible()
    page.get_by_text("Тело ответа").first.click()
    expect(page.get_by_text("out of order").first).to_be_visible()

    receiver.status = 200
    page.get_by_role("button", name="Отправить ещё раз").click()
    state(page, "принято")
    failed = [call for call in receiver.calls if call.json["type"] == "otp.verified"]
    assert len(failed) >= 2
    assert len({call.id for call in failed}) == 1
    assert failed[-1].verified(secret)


def test_buttons_of_an_address_do_what_they_say(
    page: Page, live_server: LiveServer, running_dispatcher: WebhookDispatcher, receiver: Receiver
) -> None:
    sign_in(page, live_server)
    secret = add_address(page, receiver)

    page.get_by_role("button", name="Выключить").click()
    expect(page.get_by_text("Выключен вручную.")).to_be_visible()
    page.get_by_role("button", name="Включить").click()
    expect(page.get_by_text("События снова отправляются")).to_be_visible()

    page.get_by_role("link", name="Заменить секрет").click()
    page.get_by_role("button", name="Создать новый секрет").click()
    new = page.locator("#new-secret").inner_text()
    page.get_by_role("link", name="Секрет сохранён").click()
    send_example(page, "balance.low")
    state(page, "принято")
    assert new != secret
    assert receiver.calls[0].verified(new) == receiver.calls[0].verified(secret)

    page.get_by_role("link", name=receiver.url).click()
    Delivery.objects.update(state="failed")
    page.get_by_role("link", name="Непринятые").click()
    expect(page.locator("#deliveries tbody tr")).to_have_count(1)
    page.get_by_role("button", name="Повторить все непринятые").click()
    expect(page.get_by_text("Повторяем 1 доставку.")).to_be_visible()
    receiver.wait(2)

    page.get_by_role("link", name="Изменить").click()
    page.get_by_label("Описание").fill("Боевой сайт")
    page.get_by_role("button", name="Сохранить").click()
    expect(page.get_by_text("Боевой сайт")).to_be_visible()

    page.get_by_role("link", name="Удалить").click()
    page.get_by_role("button", name="Удалить").click()
    expect(page.get_by_text("Адрес удалён.")).to_be_visible()
    expect(page.get_by_text(receiver.url)).to_have_count(0)
