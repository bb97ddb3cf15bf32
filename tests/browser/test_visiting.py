"""The pages that visitors of a link see."""

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from links.models import Link, Report
from tests.browser.clicks import press_twice
from tests.browser.page_audit import AXE, PageAudit
from tests.factories import LinkFactory

pytestmark = pytest.mark.django_db(transaction=True)


def elsewhere(live_server: LiveServer) -> str:
    """The same server by its other name, which is another site to a browser."""
    parts = urlsplit(live_server.url)
    name = "127.0.0.1" if parts.hostname == "localhost" else "localhost"
    return f"http://{name}:{parts.port}/docs/limits"


def test_one_time_link_opens_by_its_button(page: Page, live_server: LiveServer) -> None:
    link = LinkFactory.create(url=elsewhere(live_server), is_once=True)
    assert urlsplit(link.url).netloc != urlsplit(live_server.url).netloc
    page.goto(f"{live_server.url}/{link.slug}")
    expect(page.get_by_role("heading", name="Ссылка открывается один раз")).to_be_visible()
    page.reload()

    page.get_by_role("button", name="Открыть").click()

    page.wait_for_url(link.url)
    expect(page.get_by_role("heading", name="Лимиты", level=1)).to_be_visible()
    link.refresh_from_db()
    assert link.used_at is not None


def test_double_click_opens_a_one_time_link(page: Page, live_server: LiveServer) -> None:
    link = LinkFactory.create(url=elsewhere(live_server), is_once=True)
    page.goto(f"{live_server.url}/{link.slug}")

    press_twice(page.get_by_role("button", name="Открыть"))

    page.wait_for_url(link.url)


def test_link_that_was_opened_opens_no_more(browser: Browser, live_server: LiveServer) -> None:
    link = LinkFactory.create(url=elsewhere(live_server), is_once=True)
    context = browser.new_context(locale="ru-RU", java_script_enabled=False)
    first, second = context.new_page(), context.new_page()
    for page in (first, second):
        page.goto(f"{live_server.url}/{link.slug}")

    first.get_by_role("button", name="Открыть").click()
    first.wait_for_url(link.url)
    second.get_by_role("button", name="Открыть").click()

    expect(second.get_by_role("heading", name="Ссылка больше не открывается")).to_be_visible()
    assert second.url == f"{live_server.url}/{link.slug}"
    context.close()


def test_link_is_looked_into_and_reported(page: Page, live_server: LiveServer) -> None:
    target = f"{elsewhere(live_server)}?token=<b>1</b>"
    link = LinkFactory.create(url=target, company__name="ООО Ромашка")
    page.goto(f"{live_server.url}/{link.slug}+")
    expect(page.locator("dl")).to_contain_text("ООО Ромашка")
    expect(page.locator("dl")).to_contain_text(target)
    expect(page.locator(f'a[href="{target}"]')).to_have_count(0)

    page.get_by_role("button", name="Пожаловаться").click()
    page.get_by_label("выдаёт себя за кого-то другого").check()
    page.get_by_label("Своими словами").fill("Это не наш банк")
    page.get_by_role("button", name="Пожаловаться").click()

    expect(page.get_by_role("heading", name="Спасибо")).to_be_visible()
    report = Report.objects.get()
    assert (report.link_id, report.reason, report.words) == (link.pk, "phishing", "Это не наш банк")


def test_trap_link_is_hidden_from_people(page: Page, live_server: LiveServer) -> None:
    page.goto(f"{live_server.url}/{LinkFactory.create().slug}+")

    for _ in range(9):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.name") != "website"
    box = page.locator("input[name=website]").bounding_box()
    assert box is not None
    assert box["x"] < 0


def test_pages_of_links_are_for_everybody_and_fit_a_phone(
    browser: Browser, live_server: LiveServer
) -> None:
    long = f"https://example.com/{'path/' * 60}"
    once = LinkFactory.create(url=long, is_once=True)
    plain = LinkFactory.create(url=long)
    visit = PageAudit(browser, live_server.url)

    result = {path: visit.complaints("", path) for path in (f"/{once.slug}", f"/{plain.slug}+")}
    visit.page.set_viewport_size({"width": 360, "height": 740})
    visit.page.get_by_label("другое").check()
    visit.page.get_by_role("button").click()
    expect(visit.page.locator("h1")).to_have_text("Спасибо")
    visit.page.evaluate(AXE)
    result["thanks"] = visit.judged(360, 740, "light")

    visit.context.close()
    assert {path: several for path, several in result.items() if several} == {}
    assert Link.objects.get(pk=once.pk).used_at is None
