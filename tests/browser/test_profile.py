import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from accounts.outbox.mail import NoticeKind, unsubscribe_link
from tests.browser.test_cabinet import sign_in
from tests.factories import MemberFactory

pytestmark = pytest.mark.django_db(transaction=True)


def test_language_zone_and_shortcuts_are_chosen(page: Page, live_server: LiveServer) -> None:
    sign_in(page, live_server)
    page.get_by_role("link", name="Профиль").click()
    page.get_by_label("Ваше имя").fill("Demo Person")
    page.get_by_label("Часовой пояс").select_option("Asia/Vladivostok")
    page.get_by_label("Язык кабинета и писем вам").select_option("en")
    page.get_by_label("Быстрые клавиши из одной буквы").uncheck()
    page.get_by_label("Пополнения, в том числе автоматические").uncheck()

    page.get_by_role("button", name="Сохранить").click()

    expect(page.get_by_role("status").filter(has_text="Saved.")).to_be_visible()
    expect(page.get_by_label("Time zone")).to_have_value("Asia/Vladivostok")
    user = User.objects.get()
    assert (user.name, user.language, user.time_zone) == ("Demo Person", "en", "Asia/Vladivostok")
    assert (user.has_shortcuts, user.muted_notices) == (False, ["top_up"])
    page.goto(f"{live_server.url}/cabinet/members")
    expect(page.get_by_text("Demo Person")).to_be_visible()


def test_no_key_is_a_shortcut_once_they_are_switched_off(
    page: Page, live_server: LiveServer
) -> None:
    sign_in(page, live_server)
    User.objects.update(has_shortcuts=False)
    page.goto(f"{live_server.url}/cabinet/keys")
    page.wait_for_load_state()

    page.keyboard.press("g")
    page.keyboard.press("m")
    page.keyboard.press("?")
    expect(page.get_by_role("heading", name="API-ключи", exact=True)).to_be_visible()
    expect(page.get_by_role("dialog")).to_be_hidden()

    page.get_by_role("button", name="Быстрые клавиши").click()
    page.get_by_role("dialog").get_by_role("link", name="профиле").click()
    expect(page.get_by_role("heading", name="Профиль")).to_be_visible()


def test_letters_are_switched_off_by_the_link_in_one(page: Page, live_server: LiveServer) -> None:
    user = MemberFactory.create().user
    path = unsubscribe_link(user, NoticeKind.BALANCE).split("/", 3)[3]
    page.goto(f"{live_server.url}/{path}")
    expect(page.get_by_text("Заканчиваются токены или бюджет")).to_be_visible()

    page.get_by_role("button", name="Отключить").click()

    expect(page.get_by_role("heading", name="Таких писем больше не будет")).to_be_visible()
    user.refresh_from_db()
    assert user.muted_notices == ["balance"]
