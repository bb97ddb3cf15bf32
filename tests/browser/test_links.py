"""A company's links: making, changing, finding and counting their clicks."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from links import link_imports
from links.models import ClickDay, Link
from tests.browser.link_list import follow, open_links, press
from tests.browser.signing_in import sign_in
from tests.cabinet.pages import create_links
from tests.factories import LinkFactory, MessageFactory

pytestmark = pytest.mark.django_db(transaction=True)


def test_first_link_is_made_with_a_name_and_copied(page: Page, live_server: LiveServer) -> None:
    sign_in(page, live_server)
    open_links(page)
    expect(page.locator(".empty")).to_contain_text("/api/v1/links/shorten")
    follow(page, "Создать ссылку")

    page.get_by_label("Куда ведёт", exact=True).fill("https://example.com/sale?utm=1")
    page.get_by_label("Своё имя").fill("123456")
    page.get_by_label("Срок действия").select_option("604800")
    press(page, "Создать ссылку")
    expect(page.locator(".invalid-feedback")).to_contain_text("можно принять за код")
    page.get_by_label("Своё имя").fill("Sale-2026")
    press(page, "Создать ссылку")

    expect(page.get_by_text("Ссылка готова.")).to_be_visible()
    link = Link.objects.get()
    assert (link.key, link.url) == ("sale-2026", "https://example.com/sale?utm=1")
    assert link.expires_at is not None
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator(".link-facts").get_by_role("button", name="Копировать").click()
    expect(page.get_by_role("button", name="Скопировано")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == link.short_url


def test_codes_to_print_are_downloaded(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)
    link = LinkFactory.create(company=member.company)
    page.goto(f"{live_server.url}/cabinet/links/{link.public_id}")

    for name, begins in (("SVG", b"<?xml"), ("PNG", b"\x89PNG")):
        with page.expect_download() as download:
            page.get_by_role("link", name=name).click()
        assert download.value.suggested_filename == f"{link.slug}.{name.lower()}"
        assert download.value.path().read_bytes().startswith(begins)


def test_link_is_changed_switched_off_and_on(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)
    link = LinkFactory.create(company=member.company)
    page.goto(f"{live_server.url}/cabinet/links/{link.public_id}")

    follow(page, "Изменить")
    page.get_by_label("Куда ведёт", exact=True).fill("http://10.0.0.1/")
    press(page, "Сохранить")
    expect(page.locator(".invalid-feedback")).to_be_visible()
    page.get_by_label("Куда ведёт", exact=True).fill("https://example.com/new")
    page.get_by_label("Срок действия").select_option("86400")
    press(page, "Сохранить")
    expect(page.get_by_text("Изменения сохранены.")).to_be_visible()
    expect(page.locator(".facts")).to_contain_text("https://example.com/new")
    link.refresh_from_db()
    assert link.expires_at is not None

    follow(page, "Выключить")
    follow(page, "Отмена")
    follow(page, "Выключить")
    press(page, "Выключить")
    expect(page.locator(".state")).to_have_text("выключена")
    press(page, "Включить")
    expect(page.locator(".state")).to_have_text("работает")


def test_links_are_searched_filtered_and_downloaded(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)
    company = member.company
    now = timezone.now()
    LinkFactory.create(company=company, slug="first1", url="https://example.com/spring")
    LinkFactory.create(company=company, slug="second", disabled_at=now)
    LinkFactory.create(company=company, slug="third3", expires_at=now - timedelta(hours=1))
    LinkFactory.create(company=company, slug="trial4", mode="test")
    open_links(page)
    rows = page.locator("#links tbody tr")
    expect(rows).to_have_count(3)

    page.get_by_label("Состояние").select_option("expired")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("third3")
    with page.expect_download() as download:
        follow(page, "Скачать CSV")
    text = download.value.path().read_text(encoding="utf-8-sig")
    assert "third3" in text
    assert "first1" not in text

    follow(page, "Сбросить")
    page.get_by_label("Короткая ссылка или адрес").fill("spring")
    press(page, "Показать")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("first1")
    page.get_by_label("Короткая ссылка или адрес").fill("winter")
    press(page, "Показать")
    follow(page, "Сбросить фильтр")
    follow(page, "Тестовые")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("trial4")


def test_clicks_are_shown_as_chart_and_table(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)
    create_links(member.company)
    link = Link.objects.get(clicks=3)
    assert ClickDay.objects.filter(link=link).exists()
    page.goto(f"{live_server.url}/cabinet/links/{link.public_id}")

    expect(page.locator(".link-counts")).to_contain_text("3")
    expect(page.locator(".chart-bars rect.chart-green")).to_have_count(1)
    page.get_by_text("То же в таблице").click()

    cells = page.locator(".chart-table tbody tr").last.locator("td")
    expect(cells.nth(0)).to_have_text("3")
    expect(cells.nth(1)).to_have_text("1")
    expect(page.locator(".link-visitors")).to_contain_text("news.example")
    expect(page.locator(".link-visitors")).to_contain_text("iOS")


def test_message_and_its_link_lead_to_each_other(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)
    link = LinkFactory.create(company=member.company)
    message = MessageFactory.create(
        company=member.company,
        kind="link",
        subject_id=link.id,
        params={"text": link.short_url, "short_url": link.short_url, "brand": "Demo"},
    )
    Link.objects.update(message_id=message.id, clicks=2)
    page.goto(f"{live_server.url}/cabinet/links/{link.public_id}")

    follow(page, message.phone)
    expect(page.get_by_role("heading", name=message.phone)).to_be_visible()
    follow(page, link.short_url)

    expect(page.locator("#short-url")).to_have_text(link.short_url)


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
