"""The documentation: reading, turning pages and searching, on phones and without scripts too."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import Member
from api_docs.pages.page_list import PAGES
from tests.browser.page_audit import PageAudit
from tests.browser.people import session_cookie
from tests.factories import MemberFactory

pytestmark = pytest.mark.django_db(transaction=True)
PER_TEST = 5
PARTS = [PAGES[start : start + PER_TEST] for start in range(0, len(PAGES), PER_TEST)]


@pytest.mark.parametrize("pages", PARTS, ids=lambda pages: pages[0].slug)
def test_pages_are_accessible(
    browser: Browser, live_server: LiveServer, pages: list[object]
) -> None:
    visit = PageAudit(browser, live_server.url)

    result = {page.url: visit.complaints("", page.url) for page in pages}  # type: ignore[attr-defined]

    visit.context.close()
    assert {path: several for path, several in result.items() if several} == {}


def test_contents_open_on_a_phone(page: Page, live_server: LiveServer) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(f"{live_server.url}/docs")

    page.locator("summary").click()
    page.get_by_role("link", name="Лимиты").first.click()

    expect(page.get_by_role("heading", name="Лимиты", level=1)).to_be_visible()
    expect(page.locator(".docs-drawer")).not_to_have_attribute("open", "")


def test_pages_are_turned_from_first_to_last(page: Page, live_server: LiveServer) -> None:
    page.goto(f"{live_server.url}/docs")

    for docs_page in PAGES[1:]:
        page.locator('a[rel="next"]').click()
        expect(page.get_by_role("heading", name=str(docs_page.title), level=1)).to_be_visible()

    expect(page.locator('a[rel="next"]')).to_have_count(0)


def test_language_of_the_code_changes_without_a_reload(page: Page, live_server: LiveServer) -> None:
    page.goto(f"{live_server.url}/docs/send-code")
    page.evaluate("window.here = true")

    page.locator("#send_code-python").click()

    expect(page.locator("#send_code-python")).to_have_attribute("aria-current", "true")
    expect(page.locator("#code-send_code")).to_contain_text("import requests")
    assert page.evaluate("window.here") is True
    page.get_by_role("button", name="Копировать").first.click()
    expect(page.get_by_role("button", name="Скопировано")).to_be_visible()
    page.goto(f"{live_server.url}/docs/verify-code")
    expect(page.locator("#verify_code-python")).to_have_attribute("aria-current", "true")


def test_documentation_works_without_scripts(browser: Browser, live_server: LiveServer) -> None:
    context = browser.new_context(
        java_script_enabled=False, locale="ru-RU", viewport={"width": 360, "height": 740}
    )
    page = context.new_page()
    page.goto(f"{live_server.url}/docs/send-code")

    page.locator("#send_code-go").click()
    expect(page.locator("#code-send_code")).to_contain_text("package main")
    page.locator("summary").click()
    page.get_by_role("link", name="Ошибки").first.click()
    expect(page.get_by_role("heading", name="Ошибки", level=1)).to_be_visible()

    context.close()


def test_slash_goes_to_the_search_and_enter_finds(page: Page, live_server: LiveServer) -> None:
    page.goto(f"{live_server.url}/docs/limits")

    page.keyboard.press("/")
    page.keyboard.type("alias_taken")
    page.keyboard.press("Enter")

    page.locator(".docs-found a").first.click()
    expect(page).to_have_url(f"{live_server.url}/docs/errors#alias_taken")


def test_new_test_key_fills_the_snippets_of_the_tab(
    browser: Browser, live_server: LiveServer
) -> None:
    member = MemberFactory.create(role=Member.Role.DEVELOPER)
    context = browser.new_context(locale="ru-RU")
    context.add_cookies(
        [{"name": "session", "value": session_cookie(member.user), "url": live_server.url}]
    )
    page = context.new_page()
    page.goto(f"{live_server.url}/docs/send-code")

    page.get_by_role("button", name="Подставить новый тестовый ключ").first.click()

    key = re.compile(r"kv_test_[0-9A-Za-z]{38}")
    expect(page.locator("#setup-send_code")).to_contain_text(key)
    page.goto(f"{live_server.url}/docs/verify-code")
    expect(page.locator("#setup-verify_code")).to_contain_text(key)
    context.close()


def test_search_page_is_accessible(browser: Browser, live_server: LiveServer) -> None:
    visit = PageAudit(browser, live_server.url)

    complaints = visit.complaints("", "/docs/search")

    visit.context.close()
    assert complaints == []
