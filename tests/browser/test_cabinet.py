"""The cabinet from signing up to the history of messages."""

import re

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import ApiKey, Company, Invitation
from accounts.people import members
from channels.models import Message
from links.models import Link
from otp import codes
from tests.browser.clicks import ClickCounter, press_twice
from tests.browser.signing_in import confirm, enter, sign_in
from tests.factories import (
    ApiKeyFactory,
    CompanyFactory,
    InvitationFactory,
    MemberFactory,
    MessageFactory,
    VerificationFactory,
)

pytestmark = pytest.mark.django_db(transaction=True)


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
    page.get_by_role("link", name="Ключ сохранён").click()
    expect(page.get_by_text(key[-4:])).to_be_visible()
    assert key not in page.content()


def test_double_click_submits_once(page: Page, live_server: LiveServer) -> None:
    sign_in(page, live_server)
    page.goto(f"{live_server.url}/cabinet/keys/new")
    page.get_by_label("Название").fill("сервер")
    page.get_by_label("Тестовый: бесплатно").check()

    press_twice(page.get_by_role("button", name="Создать ключ"))

    expect(page.locator("#new-key")).to_be_visible()
    page.goto(f"{live_server.url}/cabinet/links/new")
    page.locator("#id_url").fill("https://example.com")
    press_twice(page.get_by_role("button", name="Создать ссылку"))
    expect(page.get_by_text("Ссылка готова")).to_be_visible()
    assert (ApiKey.objects.count(), Link.objects.count()) == (1, 1)


def test_form_that_the_back_button_brings_again_is_sent_again(
    page: Page, live_server: LiveServer
) -> None:
    sign_in(page, live_server)
    page.goto(f"{live_server.url}/cabinet/links/new")
    for count in (1, 2):
        page.locator("#id_url").fill(f"https://example.com/{count}")
        page.get_by_role("button", name="Создать").click()
        expect(page.get_by_text("Ссылка готова")).to_be_visible()
        page.go_back()

    assert Link.objects.count() == 2


def test_message_becomes_delivered_without_a_reload(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)
    message = MessageFactory.create(company=member.company, state="sent")
    page.goto(f"{live_server.url}/cabinet/messages/{message.public_id}")
    expect(page.locator("main").get_by_text("отправлено", exact=True).first).to_be_visible()

    now = timezone.now()
    Message.objects.filter(pk=message.pk).update(
        state="delivered", delivered_at=now, finished_at=now
    )

    expect(page.locator("main").get_by_text("доставлено", exact=True).first).to_be_visible()


def test_another_company_is_chosen_from_the_menu(page: Page, live_server: LiveServer) -> None:
    member = MemberFactory.create()
    MemberFactory.create(user=member.user, company=CompanyFactory.create(name="Вторая компания"))
    enter(page, live_server, member)

    page.locator(".company-menu summary").click()
    page.get_by_role("button", name="Вторая компания").click()

    expect(page.locator(".company-menu summary")).to_contain_text("Вторая компания")


def test_three_steps_tick_without_a_reload(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)
    expect(page.get_by_role("heading", name="Три шага")).to_be_visible()

    ApiKeyFactory.create(company=member.company, mode="test")
    expect(page.locator("#curl")).to_contain_text("/otp/send")
    page.locator("#quickstart-steps").get_by_role("button", name="Копировать").click()
    expect(page.get_by_role("button", name="Скопировано")).to_be_visible()

    code = VerificationFactory.create(company=member.company, verified_at=timezone.now())
    MessageFactory.create(company=member.company, subject_id=code.id)
    expect(page.get_by_role("heading", name="Все три шага сделаны")).to_be_visible()


def test_chart_shows_a_day_by_mouse_and_by_keyboard(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)
    MessageFactory.create_batch(3, company=member.company, channel="sms")
    page.reload()
    days = page.locator(".chart-day")
    today = days.nth(13)
    yesterday = days.nth(12)

    today.hover()
    expect(today.locator(".chart-tip")).to_have_css("opacity", "1")
    page.mouse.move(0, 0)
    expect(today.locator(".chart-tip")).to_have_css("opacity", "0")

    today.focus()
    expect(today).to_have_accessible_name(re.compile("SMS 3.* Не доставлено 0"))
    page.keyboard.press("ArrowLeft")
    expect(yesterday).to_be_focused()
    expect(yesterday.locator(".chart-tip")).to_have_css("opacity", "1")
    page.keyboard.press("Escape")
    expect(yesterday.locator(".chart-tip")).to_have_css("opacity", "0")


def test_chart_has_its_table(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)
    MessageFactory.create_batch(3, company=member.company, channel="sms")
    page.reload()

    page.get_by_text("То же в таблице").click()

    expect(page.locator(".chart-table tbody tr").last).to_contain_text("3")
    page.get_by_role("link", name="Тестовые").click()
    expect(page.get_by_text("тестовые ключи ничего не отправляли")).to_be_visible()


def test_history_is_filtered_and_downloaded(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)
    MessageFactory.create(company=member.company, phone="+79160000001", channel="sms")
    MessageFactory.create(company=member.company, phone="+79160000002")
    page.get_by_role("link", name="Сообщения", exact=True).click()
    page.wait_for_load_state()  # a filter acts by script

    page.get_by_label("Канал").select_option("sms")
    expect(page.get_by_text("+79160000002")).to_be_hidden()
    with page.expect_download() as download:
        page.get_by_role("link", name="Скачать CSV").click()

    text = download.value.path().read_text(encoding="utf-8-sig")
    assert "79160000001" in text
    assert "79160000002" not in text


def test_code_appears_on_the_test_phone(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)
    page.get_by_role("link", name="Тестовый телефон").click()
    expect(page.get_by_text("Тестовые ключи ещё ничего не отправляли")).to_be_visible()

    params = {"key": codes.current_key(), "length": 6, "brand": "Demo"}
    MessageFactory.create(
        company=member.company, mode="test", phone="+79160000001", params=params, state="delivered"
    )
    expect(page.locator(".bubble")).to_contain_text("ваш код подтверждения")
    page.locator(".bubble").get_by_role("button", name="Копировать").click()
    expect(page.get_by_role("button", name="Скопировано")).to_be_visible()
    page.get_by_label("Телефон").fill("+7701")
    page.get_by_role("button", name="Показать").click()
    expect(page.get_by_text("ничего не отправляли")).to_be_visible()
    page.get_by_role("link", name="Показать все номера").click()
    expect(page.locator(".bubble")).to_be_visible()


def test_preview_follows_the_settings(page: Page, live_server: LiveServer) -> None:
    sign_in(page, live_server)
    page.get_by_role("link", name="Настройки").click()

    page.get_by_label("Бренд в сообщениях").fill("Лавка")
    page.get_by_label("Цифр в коде").fill("4")
    expect(page.locator(".preview")).to_contain_text("Код 1234. Никому его не сообщайте. Лавка")

    page.get_by_label("Кодов за час").fill("3")
    page.get_by_role("button", name="Сохранить : Лимиты отправки").click()
    expect(page.get_by_text("Меньше, чем за более короткое время")).to_be_visible()
    page.get_by_label("Кодов за час").fill("8")
    page.get_by_role("button", name="Сохранить : Лимиты отправки").click()
    expect(page.locator("#limits [data-saved]")).to_be_visible()
    expect(page.get_by_label("Кодов за час")).to_have_value("8")


def test_colleague_is_invited_joins_and_is_removed(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)
    clicks = ClickCounter(page)
    page.get_by_role("link", name="Настройки").click()
    page.get_by_role("link", name="Участники").click()
    page.locator("main").get_by_label("E-mail").fill("boris@example.com")
    page.get_by_label("Роль").select_option("viewer")
    page.get_by_role("button", name="Отправить приглашение").click()
    expect(page.get_by_text("Письмо отправлено")).to_be_visible()
    assert clicks.count() <= 3
    token = members.token(Invitation.objects.get())

    page.get_by_role("button", name="Выйти").click()
    page.goto(f"{live_server.url}/cabinet/join/{token}")
    page.get_by_role("link", name="Создать учётную запись").click()
    expect(page.get_by_label("Адрес электронной почты")).to_have_value("boris@example.com")
    page.get_by_label("Пароль", exact=True).fill("a long enough passphrase")
    page.locator("main form button[type=submit]").click()
    page.get_by_role("button", name="Присоединиться").click()
    expect(page.get_by_text("наблюдатель")).to_be_visible()

    page.context.clear_cookies()
    enter(page, live_server, member)
    page.goto(f"{live_server.url}/cabinet/members")
    page.get_by_role("link", name="Удалить boris@example.com").click()
    page.get_by_role("button", name="Удалить").click()
    expect(page.get_by_text("больше не участник")).to_be_visible()
    page.get_by_role("link", name="Журнал действий").click()
    expect(page.get_by_text("Участник удалён")).to_be_visible()


def test_invitation_is_cancelled(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)
    InvitationFactory.create(company=member.company, email="boris@example.com")
    page.goto(f"{live_server.url}/cabinet/members")

    page.get_by_role("button", name="Отозвать приглашение boris@example.com").click()

    expect(page.get_by_text("Приглашение для boris@example.com отозвано.")).to_be_visible()
    assert Invitation.objects.get().revoked_at is not None


def test_key_is_replaced_and_revoked(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)
    ApiKeyFactory.create(company=member.company, name="сайт")
    page.get_by_role("link", name="API-ключи").click()

    page.get_by_role("link", name="Заменить сайт").click()
    confirm(page)
    page.get_by_role("button", name="Создать новый ключ").click()
    page.get_by_role("link", name="Ключ сохранён").click()
    expect(page.get_by_text("остаётся меньше суток")).to_be_visible()
    page.get_by_role("link", name="Отозвать сайт").first.click()
    page.get_by_role("button", name="Отозвать").click()

    expect(page.get_by_text("отозван.")).to_be_visible()
