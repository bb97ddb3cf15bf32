from zipfile import ZipFile

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from persons.tasks import make_company_exports
from tests.browser.test_cabinet import confirm, sign_in
from tests.factories import MessageFactory

pytestmark = pytest.mark.django_db(transaction=True)


def test_archive_is_made_and_downloaded(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)
    MessageFactory.create_batch(3, company=member.company)
    page.goto(f"{live_server.url}/cabinet/settings")
    page.locator("#deletion").get_by_role("link", name="Выгрузка компании").click()
    expect(page.get_by_text("Архивов пока нет.")).to_be_visible()

    page.get_by_role("button", name="Подготовить архив").click()
    confirm(page)
    page.get_by_role("button", name="Подготовить архив").click()
    expect(page.get_by_role("progressbar")).to_be_visible()
    page.get_by_role("button", name="Подготовить архив").click()
    expect(page.get_by_text("Архив уже готовится: дождитесь его.")).to_be_visible()
    make_company_exports()
    with page.expect_download() as downloaded:
        page.get_by_role("link", name="Скачать", exact=True).click()

    with ZipFile(downloaded.value.path()) as archive:
        lines = archive.read("messages-live.csv").decode("utf-8-sig").splitlines()
    assert len(lines) == 4
    page.get_by_role("button", name="Удалить", exact=True).click()
    expect(page.get_by_text("Архив удалён.")).to_be_visible()
    expect(page.get_by_text("Архивов пока нет.")).to_be_visible()
    page.locator("main .back a").click()
    expect(page.get_by_role("heading", name="Выгрузка и удаление")).to_be_visible()


def test_archive_under_way_is_canceled(page: Page, live_server: LiveServer) -> None:
    sign_in(page, live_server)
    page.goto(f"{live_server.url}/cabinet/settings/export")
    page.get_by_role("button", name="Подготовить архив").click()
    confirm(page)
    page.get_by_role("button", name="Подготовить архив").click()

    page.get_by_role("button", name="Отмена").click()

    expect(page.get_by_text("Архивов пока нет.")).to_be_visible()
