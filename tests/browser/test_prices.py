"""Prices by country, as a company sees them and the operator sets them."""

import pytest
from playwright.sync_api import Page, Route, expect
from pytest_django.live_server_helper import LiveServer

from billing import message_prices
from billing.models import SmsPrice
from tests.browser.operators import enter
from tests.browser.signing_in import sign_in

pytestmark = pytest.mark.django_db(transaction=True)


def test_company_sees_a_country_s_price(page: Page, live_server: LiveServer) -> None:
    sign_in(page, live_server)
    SmsPrice.objects.create(country="KZ", tokens=22)
    message_prices.refresh()

    page.goto(f"{live_server.url}/cabinet/balance")
    prices = page.get_by_role("region", name="Цены сообщений")
    expect(prices.get_by_role("row", name="SMS 16")).to_be_visible()
    expect(prices.get_by_role("row", name="Казахстан 22")).to_be_visible()

    page.goto(f"{live_server.url}/cabinet/send")
    channel = page.get_by_label("Канал")
    expect(channel).to_contain_text("SMS · 16 токенов")
    channel.select_option("sms")
    phone = page.get_by_role("textbox", name="Телефон")
    phone.fill("+7 701 123-45-67")
    phone.blur()
    expect(channel).to_contain_text("SMS · 22 токена")
    expect(channel).to_have_value("sms")


def test_channel_chosen_while_prices_are_on_their_way_stays(
    page: Page, live_server: LiveServer
) -> None:
    sign_in(page, live_server)
    SmsPrice.objects.create(country="KZ", tokens=22)
    message_prices.refresh()
    asked: list[Route] = []

    def hold(route: Route) -> None:
        asked.append(route)

    page.route("**/send/channels**", hold)

    page.goto(f"{live_server.url}/cabinet/send")
    channel = page.get_by_label("Канал")
    phone = page.get_by_role("textbox", name="Телефон")
    phone.fill("+7 701 123-45-67")
    with page.expect_request("**/send/channels**"):
        phone.blur()
    channel.select_option("sms")
    asked[0].continue_()

    expect(channel).to_contain_text("SMS · 22 токена")
    expect(channel).to_have_value("sms")


def test_operator_sets_the_price_of_a_country(page: Page, live_server: LiveServer) -> None:
    enter(page, live_server)
    page.goto(f"{live_server.url}/admin/billing/smsprice/")
    page.locator("main a[href*='smsprice/add/']").first.click()

    page.get_by_label("Страна").select_option("KZ")
    page.get_by_label("Токенов за SMS").fill("22")
    page.get_by_role("button", name="Сохранить", exact=True).click()

    expect(page.get_by_role("row", name="Казахстан KZ 22")).to_be_visible()
    assert SmsPrice.objects.get().tokens == 22
