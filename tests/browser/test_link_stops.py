"""Links are stopped, one by one, by batch and all, and released."""

from uuid import UUID

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import Company, Member
from catalogue.ids import uuid7
from links.addresses import short_hosts
from links.manage import stopping
from links.models import Link, ShortHost, Stop
from tests.browser.link_list import follow, open_links, press
from tests.browser.signing_in import sign_in
from tests.factories import LinkFactory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def member(page: Page, live_server: LiveServer) -> Member:
    return sign_in(page, live_server)


def make_batch(company: Company) -> UUID:
    batch_id = uuid7()
    LinkFactory.create_batch(3, company=company, batch_id=batch_id)
    LinkFactory.create(company=company)
    return batch_id


def test_batch_is_found_stopped_and_released(page: Page, member: Member) -> None:
    batch_id = make_batch(member.company)
    link = Link.objects.filter(batch_id=batch_id)[0]
    open_links(page)
    follow(page, link.slug)
    follow(page, "все ссылки пакета")
    rows = page.locator("#links tbody tr")
    expect(rows).to_have_count(3)

    follow(page, "Остановить весь пакет")
    expect(page.locator("main")).to_contain_text("3 ссылки перестанут открываться")
    follow(page, "Отмена")
    follow(page, "Остановить весь пакет")
    press(page, "Остановить пакет")
    expect(page.locator("#links .state-failed")).to_have_count(3)
    assert Stop.objects.get().batch_id == batch_id

    page.wait_for_load_state()  # a filter acts by script
    page.get_by_label("Состояние").select_option("active")
    expect(page.locator("#links .empty")).to_be_visible()
    press(page, "Снова открыть пакет")
    expect(page.locator("#links .state-delivered")).to_have_count(3)
    assert not Stop.objects.exists()


def test_all_links_are_stopped_and_released(page: Page, member: Member) -> None:
    make_batch(member.company)
    page.get_by_role("link", name="Настройки").click()
    expect(page.locator('.menu-item[aria-current="page"]')).to_have_text("Настройки")

    page.locator("#stop-links").get_by_role("link", name="Остановить все ссылки").click()
    press(page, "Остановить все ссылки")
    expect(page.locator("#links .state-failed")).to_have_count(4)
    expect(page.locator(".link-stopped")).to_contain_text("Все ссылки компании остановлены")
    press(page, "Снова открыть все ссылки")

    expect(page.locator("#links .state-delivered")).to_have_count(4)
    assert not Stop.objects.exists()


def test_link_stopped_by_the_operator_has_no_restart_button(page: Page, member: Member) -> None:
    stopping.stop(company=member.company, by_operator=True)
    open_links(page)

    expect(page.locator(".link-stopped")).to_contain_text("остановил оператор сервиса")
    expect(page.locator(".link-stopped button")).to_have_count(0)


def test_settings_of_links_hold_for_the_next_one(page: Page, member: Member) -> None:
    ShortHost.objects.create(host="go.example.com", company=member.company)
    short_hosts.invalidate_cache()
    page.goto(page.url.replace("/cabinet/", "/cabinet/settings"))
    section = page.locator("#links")
    page.get_by_label("Домен новых коротких ссылок").select_option("go.example.com")
    page.get_by_label("Метки, добавляемые к адресу").fill("utm_medium={phone}")
    section.get_by_role("button", name="Сохранить").click()
    expect(page.locator(".invalid-feedback")).to_contain_text("{channel}")
    page.get_by_label("Метки, добавляемые к адресу").fill("utm_medium={channel}")
    page.get_by_label("Куда ведёт, когда срок вышел").fill("https://example.com/over")
    section.get_by_role("button", name="Сохранить").click()
    expect(section.locator("[data-saved]")).to_be_visible()
    expect(section).to_contain_text("catalog?utm_medium=sms")

    open_links(page)
    follow(page, "Новая ссылка")
    page.get_by_label("Куда ведёт", exact=True).fill("https://example.com/sale")
    page.get_by_text("Ещё настройки").click()
    page.get_by_label("Открывается один раз").check()
    press(page, "Создать ссылку")

    expect(page.locator("#short-url")).to_contain_text("go.example.com/")
    link = Link.objects.get()
    assert link.is_once
    assert link.utm == "utm_medium={channel}"
    assert link.expired_url == "https://example.com/over"
    expect(page.locator(".link-facts")).to_contain_text("ещё не открывали")
