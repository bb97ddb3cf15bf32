"""Lists, settings and texts work without JavaScript."""

import re
from collections.abc import Iterator

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import Company
from tests.browser.people import owner_of, session_cookie
from tests.cabinet.lists import LISTS
from tests.factories import CompanyFactory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def company() -> Company:
    return CompanyFactory.create(name="Ромашка")


@pytest.fixture
def plain(browser: Browser, live_server: LiveServer, company: Company) -> Iterator[Page]:
    """An owner of the company, whose browser runs no script."""
    context = browser.new_context(
        java_script_enabled=False,
        base_url=live_server.url,
        locale="ru-RU",
        viewport={"width": 360, "height": 740},
    )
    cookie = session_cookie(owner_of(company))
    context.add_cookies([{"name": "session", "value": cookie, "url": live_server.url}])
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("name", LISTS)
def test_list_is_reached_turned_and_opened(plain: Page, company: Company, name: str) -> None:
    of = LISTS[name]
    rows = plain.locator("main tbody tr")
    plain.goto(reverse(name))
    before = rows.count()
    of.fill(company, of.most + 5 if of.is_paged else of.most)
    plain.goto(reverse(of.above))

    for tabs in plain.locator(".tabs summary").all():
        tabs.click()
    plain.locator(f'a[href="{reverse(name)}"]').filter(visible=True).first.click()
    expect(rows.nth(of.most - 1)).to_be_visible()
    if of.is_paged:
        expect(rows).to_have_count(of.most)
        plain.locator('a[rel="next"]').click()
        expect(rows).to_have_count(before + 5)
    if of.rows_open:
        plain.locator("main tbody tr a").first.click()
        expect(plain.locator("main h1")).to_be_visible()
        assert plain.url.split("?")[0] != f"{plain.url.split('/cabinet')[0]}{reverse(name)}"


@pytest.mark.parametrize("name", [name for name, of in LISTS.items() if of.filter])
def test_list_is_filtered_by_its_form(plain: Page, company: Company, name: str) -> None:
    of = LISTS[name]
    of.fill(company, 3)
    field, _, value = of.filter.partition("=")
    plain.goto(reverse(name))
    expect(plain.locator("main tbody tr")).to_have_count(3)

    control = plain.locator(f'form[role="search"] [name="{field}"]')
    if control.evaluate("one => one.tagName") == "SELECT":
        control.select_option(value)
    else:
        control.fill(value)
    plain.locator('form[role="search"] button[type="submit"]').click()

    expect(plain.locator("main .empty")).to_be_visible()
    expect(plain.locator("main tbody tr")).to_have_count(0)


def test_refused_settings_show_the_first_field_at_fault(plain: Page) -> None:
    plain.goto(reverse("settings"))
    plain.locator("#id_codes_per_10_min").fill("5")
    plain.locator("#id_codes_per_hour").fill("4")
    plain.get_by_role("button", name="Сохранить : Лимиты отправки").click()

    refused = plain.locator("#id_codes_per_hour")
    expect(refused).to_be_focused()
    expect(refused).to_be_in_viewport()
    expect(refused).to_have_attribute("aria-invalid", "true")
    plain.get_by_role("alert").get_by_role("link", name="Кодов за час").click()
    expect(plain).to_have_url(re.compile("#id_codes_per_hour$"))


def test_preview_of_a_text_needs_no_script(plain: Page) -> None:
    plain.goto("/cabinet/texts/new")
    plain.get_by_label("Текст", exact=True).fill("{code} для {brand}")
    plain.get_by_role("button", name="Показать", exact=True).click()
    expect(plain.locator("#preview")).to_contain_text("123456 для Ромашка")
    expect(plain.get_by_label("Текст", exact=True)).to_have_value("{code} для {brand}")

    plain.get_by_role("button", name="Сохранить", exact=True).click()

    expect(plain.locator("main tbody tr")).to_have_count(1)
