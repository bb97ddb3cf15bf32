"""A refused request is found in the list of requests and explained."""

import re

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.browser.signing_in import sign_in
from tests.cabinet.requests import create_request
from tests.factories import ApiKeyFactory

pytestmark = pytest.mark.django_db(transaction=True)


def test_refusal_is_found_and_explained(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)
    ApiKeyFactory.create(company=member.company)
    create_request(member.company)

    page.get_by_role("link", name="Запросы", exact=True).click()
    page.wait_for_load_state()  # a filter acts by script
    page.get_by_label("Ответ").select_option("ok")
    expect(page.get_by_text("Под этот фильтр не подходит ни один запрос.")).to_be_visible()
    page.get_by_role("link", name="Сбросить фильтр").click()
    page.get_by_label("Код ошибки").fill("invalid_input")
    page.get_by_role("button", name="Показать").click()
    expect(page).to_have_url(re.compile("code=invalid_input"))  # a click before it is cut short
    page.locator("#requests tbody a").first.click()

    expect(page.get_by_role("heading", name="Почему отказано")).to_be_visible()
    page.get_by_role("link", name="Что делать с этой ошибкой").click()
    expect(page.locator("#invalid_input")).to_be_visible()
