"""A person with a browser: from sign-up to a key, a setting and a message that arrives."""

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import Company, Member
from channels.models import Message
from tests.factories import PASSWORD, MemberFactory, MessageFactory

pytestmark = pytest.mark.django_db(transaction=True)


def sign_in(page: Page, live_server: LiveServer) -> Member:
    member = MemberFactory.create()
    page.goto(f"{live_server.url}/account/login/")
    page.get_by_label("Адрес электронной почты").fill(member.user.email)
    page.get_by_label("Пароль", exact=True).fill(PASSWORD)
    page.locator("main form button[type=submit]").click()
    expect(page.get_by_role("heading", name="Обзор")).to_be_visible()
    return member


def test_sign_up_makes_a_company_and_a_key_that_is_shown_once(
    page: Page, live_server: LiveServer
) -> None:
    page.goto(live_server.url)
    page.get_by_role("link", name="Создать учётную запись").click()
    page.get_by_label("Адрес электронной почты").fill("anna@example.com")
    page.get_by_label("Название компании").fill("ООО Пример")
    page.get_by_label("Пароль", exact=True).fill("a long enough passphrase")
    page.locator("main form button[type=submit]").click()
    expect(page.get_by_role("heading", name="Обзор")).to_be_visible()
    assert Company.objects.get().name == "ООО Пример"

    page.get_by_role("link", name="Создать ключ").click()
    page.get_by_label("Название").fill("сервер")
    page.get_by_label("Тестовый: бесплатно").check()
    page.get_by_role("button", name="Создать ключ").click()
    key = page.locator("#new-key").inner_text()
    assert key.startswith("kv_test_")

    page.get_by_role("button", name="Копировать").first.click()
    expect(page.get_by_role("button", name="Скопировано")).to_be_visible()
    page.get_by_role("link", name="Я сохранил").click()
    expect(page.get_by_text(key[-4:])).to_be_visible()
    assert key not in page.content()


def test_default_channel_is_changed(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)

    page.get_by_role("link", name="Настройки").click()
    page.get_by_label("Канал по умолчанию").select_option("sms")
    page.get_by_role("button", name="Сохранить").click()

    expect(page.get_by_label("Канал по умолчанию")).to_have_value("sms")
    member.company.refresh_from_db()
    assert member.company.default_channel == "sms"


def test_message_becomes_delivered_without_a_reload(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)
    message = MessageFactory.create(company=member.company, state="sent")
    page.goto(f"{live_server.url}/cabinet/messages/{message.public_id}")
    expect(page.locator("main").get_by_text("отправлено", exact=True).first).to_be_visible()

    now = timezone.now()
    Message.objects.filter(pk=message.pk).update(
        state="delivered", delivered_at=now, finished_at=now
    )

    expect(page.locator("main").get_by_text("доставлено", exact=True).first).to_be_visible(
        timeout=10_000
    )


def test_theme_and_language_are_kept(page: Page, live_server: LiveServer) -> None:
    sign_in(page, live_server)

    page.locator('[data-theme="dark"]').click()
    page.get_by_role("button", name="English").click()

    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("data-bs-theme", "dark")
    expect(page.locator("html")).to_have_attribute("lang", "en")


def test_menu_opens_on_a_phone(page: Page, live_server: LiveServer) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    sign_in(page, live_server)

    page.get_by_role("button", name="Меню").click()
    page.get_by_role("link", name="Сообщения").first.click()

    expect(page.get_by_role("heading", name="Сообщения").first).to_be_visible()
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 360
