"""Budgets of a company and limits of a key."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from billing.budgets import budgets
from billing.models import Budget
from tests.browser.signing_in import sign_in
from tests.factories import PASSWORD, ApiKeyFactory

pytestmark = pytest.mark.django_db(transaction=True)


def test_owner_raises_the_budget_of_the_day(page: Page, live_server: LiveServer) -> None:
    company = sign_in(page, live_server).company
    budgets.set_fixed(company=company, tokens={Budget.DAY: 40}, user=None)
    page.get_by_role("link", name="Настройки", exact=True).first.click()
    page.get_by_role("link", name="Бюджеты", exact=True).click()
    expect(page.get_by_text("Израсходовано 0 из 40;")).to_be_visible()

    day = page.get_by_label("Токенов в день, вся компания")
    day.fill("5 000")
    page.get_by_role("button", name="Сохранить").click()
    page.get_by_label("Пароль").fill(PASSWORD)
    page.get_by_role("button", name="Подтвердить").click()
    expect(day).to_have_value("5 000")  # typed once only
    page.get_by_role("button", name="Сохранить").click()

    expect(page.get_by_role("status").filter(has_text="Бюджеты сохранены")).to_be_visible()
    expect(page.get_by_text("Израсходовано 0 из 5\u00a0000;")).to_be_visible()
    assert Budget.objects.get(company=company, country=Budget.DAY).fixed_tokens == 5000
    page.set_viewport_size({"width": 360, "height": 740})
    wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert not page.evaluate(wide)


def test_owner_limits_a_key(page: Page, live_server: LiveServer) -> None:
    company = sign_in(page, live_server).company
    key = ApiKeyFactory.create(company=company, name="Сайт")
    page.goto(f"{live_server.url}/cabinet/keys")
    page.get_by_role("link", name="Лимиты токенов на ключ и день").click()

    page.get_by_label(f"Сайт {key}").fill("20")
    page.get_by_role("button", name="Сохранить").click()

    expect(page.get_by_role("status").filter(has_text="Бюджеты сохранены")).to_be_visible()
    expect(page.get_by_text("Сегодня израсходовано 0, осталось 20;")).to_be_visible()
    page.goto(f"{live_server.url}/cabinet/keys")
    expect(page.get_by_text("не больше 20 токенов в день")).to_be_visible()
