"""A company's own texts of messages, and the set-up of autofill."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from otp.models import Autofill, CodeText
from tests.browser.signing_in import sign_in

pytestmark = pytest.mark.django_db(transaction=True)


def open_texts(page: Page) -> None:
    page.get_by_role("link", name="Настройки").click()
    page.get_by_role("link", name="Тексты", exact=True).click()
    expect(page.get_by_role("heading", name="Тексты")).to_be_visible()


def press(page: Page, name: str) -> None:
    page.locator("main").get_by_role("button", name=name).click()


def follow(page: Page, name: str) -> None:
    page.locator("main").get_by_role("link", name=name, exact=True).first.click()


def test_text_is_seen_while_it_is_typed(page: Page, live_server: LiveServer) -> None:
    sign_in(page, live_server)
    open_texts(page)
    follow(page, "Написать текст")
    preview = page.locator("#preview")
    expect(preview).to_contain_text("Код 123456. Никому его не сообщайте.")

    page.get_by_label("Текст", exact=True).fill("It’s {code} for {brand}")
    page.locator("#id_locale").select_option("en")
    expect(preview).to_contain_text("It’s 123456 for")
    expect(preview).to_contain_text("U+2019")
    page.get_by_label("Канал").select_option("telegram")
    expect(preview).not_to_contain_text("UCS-2")
    page.get_by_label("Текст", exact=True).fill("It is example.com")
    expect(preview).to_contain_text("Поставьте {code}")
    expect(preview).to_contain_text("Адрес в тексте запрещён")

    press(page, "Сохранить")
    expect(page.locator(".invalid-feedback")).to_contain_text("Адрес в тексте запрещён")
    page.get_by_text("Что может стоять в тексте").click()
    expect(page.get_by_text("Ваш бренд из настроек.")).to_be_visible()
    page.get_by_label("Текст", exact=True).fill("{code} — code")
    page.get_by_label("Назначение").fill("login")
    press(page, "Показать")
    expect(preview).to_contain_text("123456 — code")
    assert not CodeText.objects.exists()

    press(page, "Сохранить")
    expect(page.get_by_text("Текст сохранён")).to_be_visible()
    text = CodeText.objects.get()
    assert text.body == "{code} — code"
    assert text.channel == "telegram"
    assert text.locale == "en"
    assert text.purpose == "login"


def test_text_is_changed_and_deleted(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)
    CodeText.objects.create(company=member.company, locale="ru", body="{code} — код")
    open_texts(page)
    page.locator("main tbody tr a").first.click()
    page.get_by_label("Текст", exact=True).fill("{code} — новый")
    press(page, "Сохранить")
    expect(page.locator("main tbody")).to_contain_text("— новый")

    follow(page, "Новый текст")
    follow(page, "Отмена")
    page.locator("main tbody").get_by_role("link", name="Удалить").click()
    follow(page, "Отмена")
    page.locator("main tbody tr a").first.click()
    follow(page, "Удалить")
    press(page, "Удалить")

    expect(page.get_by_text("Текст удалён.")).to_be_visible()
    expect(page.locator(".empty")).to_be_visible()
    assert not CodeText.objects.exists()


def test_autofill_is_set_up(page: Page, live_server: LiveServer) -> None:
    sign_in(page, live_server)
    open_texts(page)
    follow(page, "Настроить автозаполнение")
    follow(page, "Отмена")
    follow(page, "Настроить автозаполнение")
    page.wait_for_load_state()  # the preview follows by script

    page.get_by_label("Сайт, где вводят код").fill("https://example.com")
    expect(page.locator("#preview")).to_contain_text("Только имя сайта")
    page.get_by_label("Сайт, где вводят код").fill("Example.com")
    expect(page.locator("#preview")).to_contain_text("@example.com #123456")
    page.get_by_label("Хеш приложения").fill("FA+9qCX9VSu")
    expect(page.locator("#preview")).to_contain_text("Android отдаёт приложению SMS до 140 байт")
    press(page, "Показать")
    expect(page.locator("#preview")).to_contain_text("FA+9qCX9VSu")
    assert not Autofill.objects.exists()

    press(page, "Сохранить")
    expect(page.get_by_text("Автозаполнение сохранено.")).to_be_visible()
    expect(page.locator(".sample").first).to_contain_text("@example.com #123456")
