"""Single sign-on in a browser, with a real provider."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from accounts.models import Company
from tests.accounts.oidc.conftest import acme, identity_provider, provider
from tests.accounts.security.people import make_person
from tests.factories import PASSWORD
from tests.identity_provider import IdentityProvider

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
__all__ = ["acme", "identity_provider", "provider"]


@pytest.fixture
def here(
    provider: IdentityProvider, acme: Company, live_server: LiveServer, settings: Settings
) -> str:
    """The address to which the provider returns."""
    settings.PUBLIC_URL = live_server.url
    provider.accept(live_server.url)
    return str(live_server.url)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page other than `visitor`, since the browser logs an error for every page that refuses."""
    context = browser.new_context(locale="ru-RU", viewport={"width": 360, "height": 740})
    yield context.new_page()
    context.close()


def enter_there(page: Page, name: str) -> None:
    page.locator("input[name=login]").fill(name)
    page.locator("input[name=login]").press("Enter")
    page.locator("input[name=password]").fill(name)
    page.locator("input[name=password]").press("Enter")


def enter_by_password(page: Page, here: str) -> None:
    page.goto(f"{here}/account/login/")
    page.get_by_label("Адрес электронной почты").fill("anna@example.com")
    page.get_by_label("Пароль", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Войти", exact=True).click()
    expect(page.get_by_role("heading", name="Обзор")).to_be_visible()


def fits(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def test_button_leads_to_the_provider_and_back(
    page: Page, here: str, provider: IdentityProvider
) -> None:
    provider.person("anna", "acme-devs")
    page.goto(f"{here}/account/login/?next=/cabinet/keys")
    assert fits(page)

    page.get_by_role("button", name="Войти через Acme ID").click()
    enter_there(page, "anna")

    expect(page.get_by_role("heading", name="API-ключи")).to_be_visible()
    page.goto(f"{here}/account/sessions/")
    expect(page.get_by_text("Вход через единый вход")).to_be_visible()
    page.goto(f"{here}/account/sso/")
    expect(page.get_by_text("нет пароля")).to_be_visible()
    assert fits(page)


def test_identity_is_connected_and_disconnected(page: Page, here: str) -> None:
    make_person()
    enter_by_password(page, here)
    page.goto(f"{here}/account/sso/")
    page.get_by_role("link", name="Подключить Acme ID").click()
    page.get_by_label("Пароль").fill(PASSWORD)
    page.get_by_role("button", name="Подтвердить").click()
    assert fits(page)
    page.get_by_role("button", name="Перейти в Acme ID").click()
    enter_there(page, "anna")
    expect(page.get_by_text("Теперь вы можете входить через Acme ID.")).to_be_visible()
    assert fits(page)

    page.get_by_role("link", name="Отключить Acme ID").click()
    expect(page.get_by_role("heading", name="Отключить Acme ID", exact=True)).to_be_visible()
    assert fits(page)
    page.get_by_role("button", name="Отключить").click()

    expect(page.get_by_text("Acme ID больше не открывает вашу учётную запись.")).to_be_visible()
    expect(page.get_by_text("не подключён")).to_be_visible()


def test_refusals_name_the_remedy(page: Page, here: str, provider: IdentityProvider) -> None:
    page.goto(f"{here}/account/login/")
    page.get_by_role("button", name="Войти через Acme ID").click()
    enter_there(page, "anna")
    expect(page.get_by_role("heading", name="У вас пока нет доступа")).to_be_visible()
    assert fits(page)

    make_person()
    page.get_by_role("button", name="Войти через Acme ID").click()

    expect(page.get_by_text("Войдите с её паролем, затем подключите Acme ID")).to_be_visible()
    page.get_by_role("link", name="Войти с паролем").click()
    expect(page.get_by_label("Пароль", exact=True)).to_be_visible()


def test_expired_way_back_is_explained(page: Page, here: str) -> None:
    page.goto(f"{here}/account/sso/callback?code=c&state=s")

    expect(page.get_by_role("heading", name="Этот вход устарел")).to_be_visible()
    assert fits(page)
