"""Every page for everybody: WCAG A and AA by axe, on a phone and a desk, in both themes.

On the way each page is held to its content policy, to handlers and styles kept out of the markup,
and to a width of 360 pixels.
"""

import re
from pathlib import Path
from typing import Any

import pytest
from django.urls import clear_url_caches
from playwright.sync_api import Browser, BrowserContext, Page
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from accounts.models import Company
from tests.browser.people import sights
from tests.cabinet.pages import furnish
from tests.factories import CompanyFactory

pytestmark = pytest.mark.django_db(transaction=True)

AXE = (Path(__file__).parents[1] / "vendor/axe/axe.min.js").read_text(encoding="utf-8")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
SIZES = {360: 740, 1280: 800}
INLINE = re.compile(r"<style|<[^>]*\s(?:style|on[a-z]+)=|javascript:", re.IGNORECASE)
LISTEN = """
    window.breaches = [];
    addEventListener("securitypolicyviolation", (event) =>
        window.breaches.push(`${event.violatedDirective} ${event.blockedURI}`));
"""
# In the dark only colours differ; the rest has been judged already.
JUDGE = """async ([rules, isDark]) => {
    const only = isDark
        ? {type: "rule", values: ["color-contrast"]} : {type: "tag", values: rules};
    const found = await axe.run(document, {runOnly: only, resultTypes: ["violations"]});
    return found.violations.flatMap(({id, nodes}) => nodes.map((node) =>
        `${id}: ${node.html.slice(0, 160)} ${node.any.map((one) => one.message).join("; ")}`));
}"""
WIDE = """() => [...document.querySelectorAll("body *")]
    .filter((one) => document.documentElement.scrollWidth > innerWidth
        && one.getBoundingClientRect().right > innerWidth)
    .map((one) => `wider than the screen: ${one.outerHTML.slice(0, 120)}`).slice(-3)"""


@pytest.fixture
def company(settings: Settings) -> Company:
    settings.ROOT_URLCONF = "tests.browser.urls"
    clear_url_caches()
    company = CompanyFactory.create(name="Ромашка")
    furnish(company)
    return company


class Visit:
    """One window of one size; whose it is changes with the cookie."""

    def __init__(self, browser: Browser, url: str, width: int) -> None:
        self.url = url
        self.context: BrowserContext = browser.new_context(
            locale="ru-RU",
            viewport={"width": width, "height": SIZES[width]},
            reduced_motion="reduce",  # a colour in transition has no contrast yet
        )
        self.context.add_init_script(LISTEN)
        self.page: Page = self.context.new_page()

    def complaints(self, cookie: str, path: str) -> list[str]:
        self.context.clear_cookies()
        if cookie:
            self.context.add_cookies([{"name": "session", "value": cookie, "url": self.url}])
        self.page.emulate_media(color_scheme="light")
        response = self.page.goto(f"{self.url}{path}")
        assert response is not None
        found = [f"in the markup: {one[:120]}" for one in INLINE.findall(response.text())]
        found += self.page.evaluate(WIDE) + self.page.evaluate("window.breaches")
        return found + self._by_axe()

    def _by_axe(self) -> list[str]:
        self.page.evaluate(AXE)
        found: list[Any] = self.page.evaluate(JUDGE, [RULES, False])
        self.page.emulate_media(color_scheme="dark")
        found += self.page.evaluate(JUDGE, [RULES, True])
        return found


@pytest.mark.parametrize("width", SIZES)
def test_every_page_is_accessible(
    browser: Browser, live_server: LiveServer, company: Company, width: int
) -> None:
    visit = Visit(browser, live_server.url, width)

    found = {path: visit.complaints(cookie, path) for cookie, path in sights(company)}

    visit.context.close()
    assert len(found) > 40
    assert {path: several for path, several in found.items() if several} == {}
