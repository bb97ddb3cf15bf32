"""Lists of messages and requests: filters, new rows and files."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.tasks import make_files
from cabinet import csv_exports
from cabinet.csv_exports import KINDS
from tests.browser.signing_in import sign_in
from tests.cabinet.csv_files import FILL
from tests.cabinet.requests import create_request
from tests.factories import ApiKeyFactory, MessageFactory

pytestmark = pytest.mark.django_db(transaction=True)


def test_filter_is_kept_opened_first_and_deleted(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)
    MessageFactory.create(company=member.company, channel="sms", price=16)
    MessageFactory.create(company=member.company, channel="whatsapp")

    page.goto(f"{live_server.url}{reverse('message-list')}")
    page.get_by_role("link", name="сегодня", exact=True).click()
    page.wait_for_load_state()  # a filter acts by script
    page.get_by_label("Канал").select_option("sms")
    expect(page.locator("#messages tbody tr")).to_have_count(1)
    page.get_by_role("link", name="Сохранить фильтр").click()
    page.get_by_label("Название").fill("SMS за сегодня")
    page.get_by_label("Открывать список с этим фильтром").check()
    page.get_by_role("button", name="Сохранить").click()

    expect(page.get_by_text("Фильтр сохранён.")).to_be_visible()
    page.get_by_role("link", name="Сбросить", exact=True).click()
    expect(page.locator("#messages tbody tr")).to_have_count(2)
    page.get_by_role("link", name="Сообщения", exact=True).first.click()
    expect(page.locator("#messages tbody tr")).to_have_count(1)
    page.get_by_role("link", name="Удалить SMS за сегодня").click()
    page.get_by_role("button", name="Удалить").click()
    expect(page.locator("#messages tbody tr")).to_have_count(2)


def test_new_messages_come_by_themselves(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)
    MessageFactory.create(company=member.company)
    page.goto(f"{live_server.url}{reverse('message-list')}?mode=live")
    page.get_by_role("button", name="Следить за новыми").click()
    expect(page.get_by_text("Новые строки появляются сами.")).to_be_visible()

    MessageFactory.create(company=member.company)

    expect(page.locator("#messages tbody tr")).to_have_count(2, timeout=15_000)
    page.get_by_role("button", name="Не следить").click()
    expect(page.get_by_role("button", name="Следить за новыми")).to_be_visible()
    expect(page.locator("[data-follow]")).to_have_count(0)


def test_list_that_is_being_read_stays(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)
    MessageFactory.create(company=member.company)
    page.goto(f"{live_server.url}{reverse('message-list')}?mode=live&follow=1")
    page.locator("#messages tbody a").first.focus()

    MessageFactory.create(company=member.company)

    page.wait_for_timeout(4000)  # longer than the list waits between two looks
    expect(page.locator("#messages tbody tr")).to_have_count(1)
    page.evaluate("document.activeElement.blur()")
    expect(page.locator("#messages tbody tr")).to_have_count(2, timeout=15_000)


def test_requests_are_followed_too(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)
    ApiKeyFactory.create(company=member.company)
    create_request(member.company)
    page.goto(f"{live_server.url}{reverse('request-list')}?mode=live")

    page.get_by_role("button", name="Следить за новыми").click()

    expect(page.locator("#requests[data-follow]")).to_be_visible()
    page.wait_for_load_state()  # a filter acts by script
    page.get_by_label("Ответ").select_option("refused")
    page.get_by_role("link", name="Сохранить фильтр").click()
    page.get_by_label("Название").fill("Всё")
    page.get_by_role("button", name="Сохранить").click()
    expect(page.get_by_role("link", name="Всё", exact=True)).to_be_visible()


@pytest.mark.parametrize("kind", KINDS)
def test_long_file_is_made_and_downloaded(
    page: Page, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(csv_exports, "SHORT", 2)
    member = sign_in(page, live_server)
    FILL[kind](member.company, 3)
    page.goto(f"{live_server.url}{reverse(KINDS[kind].page)}?mode=live")

    page.get_by_role("link", name="Скачать CSV").click()
    page.get_by_role("button", name="Подготовить файл").click()
    expect(page.get_by_role("progressbar")).to_be_visible()
    make_files()
    with page.expect_download() as downloaded:
        page.get_by_role("link", name="Скачать", exact=True).click()

    text = downloaded.value.path().read_text("utf-8-sig")
    assert len(text.splitlines()) >= 4
    page.get_by_role("button", name="Удалить").click()
    expect(page.get_by_text("Файл удалён.")).to_be_visible()
    expect(page.get_by_text("Файлов нет.")).to_be_visible()
