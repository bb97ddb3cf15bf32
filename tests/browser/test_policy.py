"""Rules of the channel policy, and chains of channels."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from catalogue.channels import CHANNELS
from tests.browser.signing_in import sign_in
from tests.cabinet.pages import create_route_days

pytestmark = pytest.mark.django_db(transaction=True)


def test_rule_is_added_tried_changed_and_deleted(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)

    page.goto(f"{live_server.url}/cabinet/policy")
    page.get_by_role("link", name="Новое правило").click()
    page.get_by_role("button", name="Сохранить").click()
    expect(page.get_by_text("Правило ничего не задаёт")).to_be_visible()
    page.get_by_label("Страна").select_option("RU")
    page.get_by_label("Сначала").select_option("telegram")
    page.get_by_label("Затем", exact=True).select_option("sms")
    page.get_by_label("WhatsApp", exact=True).check()
    page.get_by_label("Секунд на Telegram").fill("20")
    page.get_by_role("button", name="Сохранить").click()

    expect(page.get_by_text("Telegram → SMS")).to_be_visible()
    page.get_by_label("Номер телефона").fill("8 916 123-45-67")
    page.get_by_role("button", name="Показать").click()
    expect(page.get_by_role("heading", name="+79161234567 · Россия")).to_be_visible()
    expect(page.get_by_text("1 токен, если доставлено")).to_be_visible()
    expect(page.get_by_text("Запрещены: WhatsApp.")).to_be_visible()

    page.get_by_role("link", name="Россия").click()
    page.get_by_label("Сначала").select_option("sms")
    page.get_by_label("Затем", exact=True).select_option("")
    page.get_by_role("button", name="Сохранить").click()
    expect(page.get_by_role("cell", name="SMS", exact=True)).to_be_visible()
    page.get_by_role("link", name="Удалить RU").click()
    page.get_by_role("button", name="Удалить").click()
    expect(page.get_by_text("Правило удалено.")).to_be_visible()
    member.company.refresh_from_db()
    assert member.company.policy == []


def test_smart_rule_is_made_and_its_saving_looked_up(page: Page, live_server: LiveServer) -> None:
    company = sign_in(page, live_server).company
    page.goto(f"{live_server.url}/cabinet/policy")
    page.get_by_role("link", name="Сколько сберегла умная маршрутизация").click()
    expect(page.get_by_text("В политике пока нет умных правил.")).to_be_visible()
    page.get_by_role("link", name="Новое правило").click()

    page.get_by_label("Порядок").select_option("yes")
    page.get_by_role("button", name="Сохранить").click()
    expect(page.get_by_text("Умное правило называет каналы")).to_be_visible()
    page.get_by_label("Сначала").select_option("telegram")
    page.get_by_label("Затем", exact=True).select_option("sms")
    page.get_by_role("button", name="Сохранить").click()
    expect(page.get_by_role("row", name="умный")).to_be_visible()
    page.get_by_role("link", name="Все страны").first.click()
    expect(page.get_by_label("Порядок")).to_have_value("yes")

    create_route_days(company)
    page.goto(f"{live_server.url}/cabinet/policy/savings")
    row = page.get_by_role("row", name="Россия")
    expect(row).to_contain_text("9 400")
    expect(row).to_contain_text("от 7 914 до 10 886")
    expect(page.get_by_role("row", name="Казахстан")).to_contain_text("пока неизвестно")
    page.get_by_role("link", name="Политика").first.click()
    expect(page).to_have_url(f"{live_server.url}/cabinet/policy")


def test_chain_is_set_and_a_mistake_is_explained(page: Page, live_server: LiveServer) -> None:
    company = sign_in(page, live_server).company
    page.goto(f"{live_server.url}/cabinet/settings")
    page.get_by_label("Отправлять следующим каналом").check()
    labels = ("Сначала", "Затем", "И ещё", "И ещё")
    selects = page.locator("select[name^=chain_]")
    for position, (label, channel) in enumerate(zip(labels, CHANNELS, strict=True)):
        expect(selects.nth(position)).to_have_accessible_name(label)
        expect(selects.nth(position)).to_have_value(channel.name)
        if position:
            selects.nth(position).select_option("")
    page.get_by_role("button", name="Сохранить : Каналы и запасные каналы").click()
    expect(page.get_by_text("Выберите хотя бы два канала.")).to_be_visible()

    page.get_by_label("Затем").select_option("sms")
    page.get_by_label("Секунд на WhatsApp").fill("20")
    page.get_by_label("Предел цены, токенов").fill("16")
    page.get_by_role("button", name="Сохранить : Каналы и запасные каналы").click()
    expect(page.locator("#channels [data-saved]")).to_be_visible()

    company.refresh_from_db()
    assert (company.falls_back, company.fallback_chain) == (True, ["whatsapp", "sms"])
    assert (company.patience, company.fallback_max_cost) == ({"whatsapp": 20}, 16)
    expect(page.get_by_label("Затем")).to_have_value("sms")
