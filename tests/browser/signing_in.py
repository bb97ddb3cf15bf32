"""A person signs in to the cabinet."""

from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import Member
from tests.factories import PASSWORD, MemberFactory


def sign_in(page: Page, live_server: LiveServer) -> Member:
    member = MemberFactory.create()
    enter(page, live_server, member)
    return member


def enter(page: Page, live_server: LiveServer, member: Member) -> None:
    page.goto(f"{live_server.url}/account/login/")
    page.get_by_label("Адрес электронной почты").fill(member.user.email)
    page.get_by_label("Пароль", exact=True).fill(PASSWORD)
    page.locator("main form button[type=submit]").click()
    expect(page.get_by_role("heading", name="Обзор")).to_be_visible()


def confirm(page: Page) -> None:
    """Enters the password again, which a dangerous change requires."""
    page.get_by_label("Пароль").fill(PASSWORD)
    page.get_by_role("button", name="Подтвердить").click()
