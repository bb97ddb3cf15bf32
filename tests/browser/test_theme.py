"""The theme follows the system until a person chooses one."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

pytestmark = pytest.mark.django_db(transaction=True)


def test_theme_is_chosen_by_keyboard_and_kept(page: Page, live_server: LiveServer) -> None:
    page.goto(live_server.url)
    page.get_by_role("button", name="Как в системе").focus()

    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Тёмная")).to_be_focused()
    page.keyboard.press("Enter")

    expect(page.get_by_role("button", name="Тёмная")).to_have_attribute("aria-pressed", "true")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-bs-theme", "dark")


def test_theme_follows_the_system_until_chosen(page: Page, live_server: LiveServer) -> None:
    page.emulate_media(color_scheme="dark")
    page.goto(live_server.url)
    expect(page.locator("html")).to_have_attribute("data-bs-theme", "dark")

    page.emulate_media(color_scheme="light")
    expect(page.locator("html")).to_have_attribute("data-bs-theme", "light")

    page.get_by_role("button", name="Светлая").press("Space")
    page.emulate_media(color_scheme="dark")
    expect(page.locator("html")).to_have_attribute("data-bs-theme", "light")
