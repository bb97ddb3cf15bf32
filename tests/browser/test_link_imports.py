from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from links import link_imports
from links.models import Link
from tests.browser.test_cabinet import sign_in

pytestmark = pytest.mark.django_db(transaction=True)


def test_file_becomes_links(page: Page, live_server: LiveServer, tmp_path: Path) -> None:
    sign_in(page, live_server)
    table = tmp_path / "осень.csv"
    table.write_text("url;клиент\nhttps://example.com/1;a\nнет;b\n", encoding="cp1251")
    page.get_by_role("link", name="Короткие ссылки", exact=True).click()
    page.get_by_role("link", name="Из файла").click()
    page.get_by_label("Файл CSV").set_input_files(table)
    page.get_by_role("button", name="Загрузить и проверить").click()

    expect(page.get_by_text("https://example.com/1")).to_be_visible()
    expect(page.get_by_text("Пропущены столбцы: клиент")).to_be_visible()
    page.get_by_role("button", name="Создать ссылки").click()
    expect(page.get_by_role("progressbar")).to_be_visible()
    while link_imports.make_next():
        pass

    expect(page.get_by_role("heading", name="Все строки обработаны")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Скачать результат").click()
    link = Link.objects.get()
    assert link.short_url in download.value.path().read_text(encoding="utf-8-sig")
    page.get_by_role("link", name="Показать эти ссылки").click()
    expect(page.get_by_role("heading", name="Пакет ссылок")).to_be_visible()


def test_file_is_discarded(page: Page, live_server: LiveServer, tmp_path: Path) -> None:
    sign_in(page, live_server)
    table = tmp_path / "links.csv"
    table.write_text("https://example.com/1\n")
    page.goto(f"{live_server.url}/cabinet/links/import")
    page.get_by_label("Файл CSV").set_input_files(table)
    page.get_by_label("Тестовый: чтобы попробовать").check()
    page.get_by_role("button", name="Загрузить и проверить").click()
    page.get_by_role("button", name="Отбросить файл").click()

    expect(page.get_by_text("Файл отброшен.")).to_be_visible()
