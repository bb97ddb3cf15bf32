"""A person's account: addresses, password and companies."""

import re
from importlib import import_module

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY
from django.core.cache import cache
from playwright.sync_api import Dialog, Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import Company, Mail, Member, User
from accounts.outbox.mail import NoticeKind, unsubscribe_link
from tests.accounts.security.people import add_address, add_app, make_person
from tests.browser.signing_in import sign_in
from tests.browser.test_sessions import enter
from tests.factories import PASSWORD, MemberFactory
from tests.operator_admin.operators import code_now

pytestmark = pytest.mark.django_db(transaction=True)

NEW_PASSWORD = "a river runs through the 7 hills"


@pytest.fixture
def user() -> User:
    return make_person()


def confirm(page: Page) -> None:
    page.get_by_label("Пароль").fill(PASSWORD)
    page.get_by_role("button", name="Подтвердить").click()


def enter_with_app(page: Page, live_server: LiveServer, user: User) -> None:
    add_app(user)
    page.goto(f"{live_server.url}/account/login/")
    page.get_by_label("Адрес электронной почты").fill(user.email)
    page.get_by_label("Пароль", exact=True).fill(PASSWORD)
    page.locator("main form button[type=submit]").click()
    page.locator("input[name=code]").fill(code_now())
    page.locator("main form button[type=submit]").first.click()
    expect(page.get_by_role("heading", name="Обзор")).to_be_visible()


def prove(page: Page) -> None:
    """Enters a code of the app again; forgets the last one, because each is valid once."""
    cache.clear()
    page.locator("input[name=code]").fill(code_now())
    page.locator("main form button[type=submit]").first.click()


def path_in_mail(to: str, beginning: str) -> str:
    text = Mail.objects.filter(to=to).latest("created_at").text
    match = re.search(rf"http\S+?({beginning}\S+)", text)
    assert match is not None
    return match[1]


def test_another_address_is_confirmed_and_made_the_main_one(
    page: Page, live_server: LiveServer, user: User
) -> None:
    enter(page, live_server, user)
    page.get_by_role("link", name="E-mail").click()
    page.get_by_role("link", name="Изменить адреса").click()
    confirm(page)
    expect(page.get_by_role("button", name="Добавить")).to_be_visible()
    expect(page.get_by_role("button", name="Сделать основным")).to_have_count(0)
    add_address(user, "second@example.com", verified=False)
    page.reload()
    Mail.objects.all().delete()

    page.get_by_label("second@example.com").check()
    page.get_by_role("button", name="Прислать письмо ещё раз").click()
    expect(page.get_by_role("status").filter(has_text="second@example.com")).to_be_visible()
    page.goto(live_server.url + path_in_mail("second@example.com", "/account/confirm-email/"))
    page.get_by_role("button", name="Да, подтвердить").click()
    expect(page.get_by_role("button", name="Да, подтвердить")).to_have_count(0)

    page.goto(f"{live_server.url}/account/email/")
    page.get_by_label("second@example.com").check()
    page.get_by_role("button", name="Сделать основным").click()
    expect(page.locator("label", has_text="second@example.com")).to_contain_text("основной")
    assert EmailAddress.objects.get(primary=True).email == "second@example.com"

    page.on("dialog", Dialog.accept)
    page.get_by_label("anna@example.com").check()
    page.get_by_role("button", name="Удалить").click()
    expect(page.get_by_label("anna@example.com")).to_have_count(0)


def test_password_is_changed(page: Page, live_server: LiveServer, user: User) -> None:
    enter(page, live_server, user)
    page.get_by_role("link", name="Пароль").click()
    confirm(page)
    page.get_by_label("Текущий пароль").fill(PASSWORD)
    page.get_by_label("Новый пароль", exact=True).fill(NEW_PASSWORD)
    page.get_by_label("Новый пароль (ещё раз)").fill(NEW_PASSWORD)
    page.get_by_role("button", name="Изменить пароль").click()
    expect(page.get_by_role("status").filter(has_text="Пароль")).to_be_visible()

    user.refresh_from_db()
    assert user.check_password(NEW_PASSWORD)


def test_forgotten_password_is_reset_by_the_emailed_link(
    page: Page, live_server: LiveServer, user: User
) -> None:
    page.goto(f"{live_server.url}/account/login/")
    page.get_by_role("link", name="Забыли пароль").click()
    page.get_by_label("Адрес электронной почты").fill(user.email)
    page.locator("main form button[type=submit]").click()
    expect(page.get_by_role("heading")).to_contain_text("письм", ignore_case=True)

    page.goto(live_server.url + path_in_mail(user.email, "/account/password/reset/key/"))
    page.get_by_label("Новый пароль", exact=True).fill(NEW_PASSWORD)
    page.get_by_label("Новый пароль (ещё раз)").fill(NEW_PASSWORD)
    page.get_by_role("button", name="Сохранить пароль").click()
    expect(page.get_by_role("button", name="Сохранить пароль")).to_have_count(0)

    user.refresh_from_db()
    assert user.check_password(NEW_PASSWORD)


def test_person_of_the_identity_provider_sets_a_password(
    page: Page, live_server: LiveServer, user: User
) -> None:
    enter_with_app(page, live_server, user)
    user.set_unusable_password()
    user.save()
    (cookie,) = (cookie for cookie in page.context.cookies() if cookie["name"] == "session")
    session = import_module(settings.SESSION_ENGINE).SessionStore(cookie["value"])
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()  # as the provider's sign-in leaves it
    session.save()

    page.goto(f"{live_server.url}/account/password/set/")
    prove(page)
    page.locator("input[name=password1]").fill(NEW_PASSWORD)
    page.locator("input[name=password2]").fill(NEW_PASSWORD)
    page.get_by_role("button", name="Задать пароль").click()
    expect(page.get_by_role("button", name="Задать пароль")).to_have_count(0)

    user.refresh_from_db()
    assert user.check_password(NEW_PASSWORD)


def test_new_recovery_codes_replace_the_old_ones(
    page: Page, live_server: LiveServer, user: User
) -> None:
    enter_with_app(page, live_server, user)

    page.goto(f"{live_server.url}/account/2fa/recovery-codes/generate/")
    prove(page)
    page.get_by_role("button", name="Создать новые коды").click()

    expect(page.get_by_role("heading", name="Коды восстановления")).to_be_visible()
    assert Authenticator.objects.filter(user=user, type="recovery_codes").count() == 1


def test_person_without_company_creates_one(page: Page, live_server: LiveServer) -> None:
    member = MemberFactory.create()
    member.delete()
    page.goto(f"{live_server.url}/account/login/")
    page.get_by_label("Адрес электронной почты").fill(member.user.email)
    page.get_by_label("Пароль", exact=True).fill(PASSWORD)
    page.locator("main form button[type=submit]").click()

    page.get_by_label("Название компании").fill("Ромашка")
    page.get_by_label("Страна").select_option("KZ")
    page.get_by_role("button", name="Создать компанию").click()

    expect(page.get_by_role("heading", name="Обзор")).to_be_visible()
    made = Company.objects.get(name="Ромашка")
    assert made.members.get().role == Member.Role.OWNER


def test_role_of_a_colleague_is_changed(page: Page, live_server: LiveServer, user: User) -> None:
    colleague = MemberFactory.create(
        company=user.memberships.get().company, role=Member.Role.DEVELOPER
    )
    enter(page, live_server, user)
    page.goto(f"{live_server.url}/cabinet/members")
    page.get_by_role("link", name=f"Роль {colleague.user.email}").click()
    page.get_by_label("Роль").select_option("accountant")

    page.get_by_role("button", name="Изменить роль").click()
    page.get_by_label("Пароль").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_label("Роль")).to_have_value("accountant")
    page.get_by_role("button", name="Изменить роль").click()

    expect(page.get_by_role("heading", name="Участники")).to_be_visible()
    colleague.refresh_from_db()
    assert colleague.role == Member.Role.ACCOUNTANT


def test_menu_of_a_phone_opens_and_closes(page: Page, live_server: LiveServer, user: User) -> None:
    enter(page, live_server, user)
    page.set_viewport_size({"width": 360, "height": 740})
    menu = page.get_by_role("link", name="Вебхуки")
    expect(menu).to_be_hidden()

    page.get_by_role("button", name="Меню", exact=True).click()
    expect(menu).to_be_visible()
    page.get_by_role("button", name="Закрыть меню").click()
    expect(menu).to_be_hidden()


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


def test_emails_are_unsubscribed_by_their_link(page: Page, live_server: LiveServer) -> None:
    user = MemberFactory.create().user
    path = unsubscribe_link(user, NoticeKind.BALANCE).split("/", 3)[3]
    page.goto(f"{live_server.url}/{path}")
    expect(page.get_by_text("Заканчиваются токены или бюджет")).to_be_visible()

    page.get_by_role("button", name="Отключить").click()

    expect(page.get_by_role("heading", name="Таких писем больше не будет")).to_be_visible()
    user.refresh_from_db()
    assert user.muted_notices == ["balance"]
