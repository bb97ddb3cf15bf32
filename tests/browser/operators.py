"""An operator signs in to the admin."""

from django.core.cache import cache
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.factories import PASSWORD
from tests.operator_admin.operators import code_now, make_operator


def enter(page: Page, live_server: LiveServer) -> None:
    operator = make_operator()
    page.goto(f"{live_server.url}/admin/")
    page.get_by_label("Адрес электронной почты").fill(operator.email)
    page.get_by_label("Пароль", exact=True).fill(PASSWORD)
    page.locator("main form button[type=submit]").click()
    page.locator("input[name=code]").fill(code_now())
    page.locator("main form button[type=submit]").first.click()
    expect(page.get_by_role("heading", name="Сегодня")).to_be_visible()


def prove(page: Page) -> None:
    """Proves the second factor again; forgets the last code, because a code is valid once."""
    cache.clear()
    page.locator("input[name=code]").fill(code_now())
    page.locator("main form button[type=submit]").first.click()
