"""Sessions are ended, and some changes ask for a password first."""

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from tests.accounts.security.people import make_person, signed_in
from tests.browser.conftest import visitor
from tests.factories import PASSWORD, MemberFactory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def user() -> User:
    return make_person()


def enter(page: Page, live_server: LiveServer, user: User) -> None:
    page.goto(f"{live_server.url}/account/login/")
    page.get_by_label("Адрес электронной почты").fill(user.email)
    page.get_by_label("Пароль", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Войти", exact=True).click()
    expect(page.get_by_role("heading", name="Обзор")).to_be_visible()


def test_another_session_is_ended_by_its_button(
    page: Page, live_server: LiveServer, user: User
) -> None:
    other = signed_in(user)
    enter(page, live_server, user)
    page.get_by_role("link", name="Сеансы").click()
    expect(page.get_by_text("этот сеанс")).to_be_visible()

    page.get_by_role("button", name="Завершить Firefox, Linux").click()

    expect(page.get_by_text("Сеанс завершён.")).to_be_visible()
    expect(page.get_by_role("button", name="Завершить все остальные")).not_to_be_visible()
    assert other.get("/cabinet/").status_code == 302


def test_address_is_added_only_after_the_password(
    page: Page, live_server: LiveServer, user: User
) -> None:
    enter(page, live_server, user)
    page.get_by_role("link", name="E-mail").click()
    page.get_by_role("link", name="Изменить адреса").click()
    page.get_by_label("Пароль").fill(PASSWORD)
    page.get_by_role("button", name="Подтвердить").click()

    page.get_by_label("Адрес электронной почты").fill("second@example.com")
    page.get_by_role("button", name="Добавить").click()

    expect(page.get_by_text("second@example.com").first).to_be_visible()


def test_invitation_of_an_owner_survives_the_question_on_a_phone(
    browser: Browser, live_server: LiveServer, user: User
) -> None:
    with visitor(browser) as page:
        page.set_viewport_size({"width": 360, "height": 740})
        enter(page, live_server, user)
        page.goto(f"{live_server.url}/cabinet/members/invite")
        page.get_by_label("E-mail").fill("boris@example.com")
        page.get_by_label("Роль").select_option("owner")
        page.get_by_role("button", name="Отправить приглашение").click()
        page.get_by_label("Пароль").fill(PASSWORD)
        page.get_by_role("button", name="Подтвердить").click()

        expect(page.get_by_label("Роль")).to_have_value("owner")
        page.get_by_role("button", name="Отправить приглашение").click()

        expect(page.get_by_text("boris@example.com").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_owner_ends_sessions_of_a_member(page: Page, live_server: LiveServer, user: User) -> None:
    company = user.memberships.get().company
    colleague = MemberFactory.create(company=company, role="viewer").user
    first, second, third = (signed_in(colleague) for _number in range(3))
    enter(page, live_server, user)
    page.goto(f"{live_server.url}/cabinet/members")
    page.get_by_role("link", name=f"Сеансы {colleague.email}").click()

    page.get_by_role("button", name="Завершить Firefox, Linux").first.click()
    page.get_by_label("Пароль").fill(PASSWORD)
    page.get_by_role("button", name="Подтвердить").click()
    page.get_by_role("button", name="Завершить Firefox, Linux").first.click()
    expect(page.get_by_text("Сеанс завершён.")).to_be_visible()
    assert [device.get("/cabinet/").status_code for device in (first, second, third)].count(
        302
    ) == 1
    page.get_by_role("button", name="Завершить все сеансы").click()

    expect(page.get_by_text("Этот человек нигде не выполнил вход.")).to_be_visible()
    assert {device.get("/cabinet/").status_code for device in (first, second, third)} == {302}
    page.locator("main .back a").click()
    expect(page.get_by_role("heading", name="Участники")).to_be_visible()
