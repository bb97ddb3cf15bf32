"""A long file of messages in a browser: asked for, made in the background, downloaded, deleted."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from channels.history import export
from channels.tasks import make_message_files
from tests.browser.test_cabinet import sign_in
from tests.factories import MessageFactory

pytestmark = pytest.mark.django_db(transaction=True)


def test_long_file_is_made_and_downloaded(
    page: Page, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "SHORT", 2)
    member = sign_in(page, live_server)
    MessageFactory.create_batch(3, company=member.company)
    page.goto(f"{live_server.url}{reverse('message-list')}?mode=live")

    page.get_by_role("link", name="Скачать CSV").click()
    page.get_by_role("button", name="Подготовить файл").click()
    expect(page.get_by_role("progressbar")).to_be_visible()
    make_message_files()
    with page.expect_download() as downloaded:
        page.get_by_role("link", name="Скачать", exact=True).click()

    text = downloaded.value.path().read_text("utf-8-sig")
    assert len(text.splitlines()) == 4
    page.get_by_role("button", name="Удалить").click()
    expect(page.get_by_text("Файл удалён.")).to_be_visible()
    expect(page.get_by_text("Файлов нет.")).to_be_visible()
