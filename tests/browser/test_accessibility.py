"""Every page: WCAG A and AA by axe, from a phone to a desktop, in both themes.

On the way each page is held to its content policy, to handlers and styles kept out of the markup,
and to the width of the screen.
"""

import re
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import pytest
from django.urls import clear_url_caches
from playwright.sync_api import Browser, BrowserContext, Page
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from accounts.models import Company
from tests.accounts.oidc.conftest import acme, identity_provider, provider
from tests.browser import single_sign_on
from tests.browser.people import all_pages
from tests.cabinet.pages import create_content
from tests.factories import CompanyFactory
from tests.identity_provider import IdentityProvider

pytestmark = pytest.mark.django_db(transaction=True)
__all__ = ["acme", "identity_provider", "provider"]

AXE = (Path(__file__).parents[1] / "vendor/axe/axe.min.js").read_text(encoding="utf-8")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
# 640 is what 1280 leaves at a zoom of 200 %.
SIZES = {320: 640, 640: 400, 768: 1024, 1024: 768, 1280: 800}
Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")
REDIRECTING = ("/account/password/reset/key/", "/admin/login/")  # these lead on to another page
ERROR_PAGES = (
    "/cabinet/broken/",
    "/no-such-link",
    "/bcdfghj",  # of links that are off
    "/account/sso/callback",  # which expired
)
INLINE_CODE = re.compile(r"<style|<[^>]*\s(?:style|on[a-z]+)=|javascript:", re.IGNORECASE)
RECORD_CSP_VIOLATIONS = """
    window.breaches = [];
    addEventListener("securitypolicyviolation", (event) =>
        window.breaches.push(`${event.violatedDirective} ${event.blockedURI}`));
"""
# In the dark only colours differ; the rest has been judged already. To preload imported sheets axe
# adds style elements, which the content policy refuses; none of these rules reads them.
RUN_AXE = """async ([rules, isDark]) => {
    const only = isDark
        ? {type: "rule", values: ["color-contrast"]} : {type: "tag", values: rules};
    const more = {"landmark-unique": {enabled: true}};
    const options = {runOnly: only, rules: more, resultTypes: ["violations"], preload: false};
    const found = await axe.run(document, options);
    return found.violations.flatMap(({id, nodes}) => nodes.map((node) =>
        `${id}: ${node.html.slice(0, 160)} ${node.any.map((one) => one.message).join("; ")}`));
}"""
FIND_OVERFLOW = """() => {
    const over = document.documentElement.scrollWidth - innerWidth;
    const wide = [...document.querySelectorAll("body *")]
        .filter((one) => one.getBoundingClientRect().right > innerWidth)
        .map((one) => one.outerHTML.slice(0, 120));
    return over > 0 ? [`${over} px wider than the screen: ${wide.slice(-3)}`] : [];
}"""
# A select shows its value on one line, and cuts off the rest.
FIND_CUT_CHOICES = """() => {
    const pen = document.createElement("canvas").getContext("2d");
    return [...document.querySelectorAll("select")].flatMap((select) => {
        if (!select.checkVisibility() || select.multiple) return [];
        const style = getComputedStyle(select), text = select.selectedOptions[0]?.text ?? "";
        const padding = parseFloat(style.paddingLeft) + parseFloat(style.paddingRight);
        pen.font = style.font;
        const over = pen.measureText(text).width - (select.clientWidth - padding);
        return over > 1 ? [`cut off in ${select.name}: ${text}`] : [];
    });
}"""


@pytest.fixture
def company(settings: Settings) -> Company:
    settings.ROOT_URLCONF = "tests.browser.urls"
    clear_url_caches()
    company = CompanyFactory.create(name="Ромашка")
    create_content(company)
    return company


class PageAudit:
    """One window; whose it is changes with the cookie."""

    def __init__(self, browser: Browser, url: str) -> None:
        self.url = url
        self.context: BrowserContext = browser.new_context(
            locale="ru-RU",
            reduced_motion="reduce",  # a colour in transition has no contrast yet
        )
        self.context.add_init_script(RECORD_CSP_VIOLATIONS)
        self.page: Page = self.context.new_page()

    def complaints(self, cookie: str, path: str) -> list[str]:
        self.context.clear_cookies()
        if cookie:
            self.context.add_cookies([{"name": "session", "value": cookie, "url": self.url}])
        return self.complaints_of(self._open(path))

    def complaints_of(self, markup: str) -> list[str]:
        """The findings on the open page."""
        result = [f"in the markup: {match[:120]}" for match in INLINE_CODE.findall(markup)]
        result += self.page.evaluate("window.breaches")
        self.page.set_viewport_size({"width": 360, "height": 740})
        result += self.page.evaluate(FIND_CUT_CHOICES)
        self.page.evaluate(AXE)
        return result + [
            f"{width} {theme}: {item}"
            for width, height in SIZES.items()
            for theme in THEMES
            for item in self.judged(width, height, theme)
        ]

    def _open(self, path: str) -> str:
        response = self.page.goto(f"{self.url}{path}")
        assert response is not None
        where = urlsplit(response.url).path
        assert where == path or path.startswith(REDIRECTING), f"{path} led to {where}"
        assert response.ok or path.startswith(ERROR_PAGES), f"{path}: {response.status}"
        return response.text()

    def judged(self, width: int, height: int, theme: Theme) -> list[str]:
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(color_scheme=theme)
        result: list[str] = self.page.evaluate(RUN_AXE, [RULES, theme == "dark"])
        return result + (self.page.evaluate(FIND_OVERFLOW) if theme == "light" else [])


@pytest.mark.timeout(900)  # some six hundred judgements, on a machine that may be busy
def test_every_page_is_accessible(
    browser: Browser, live_server: LiveServer, company: Company
) -> None:
    visit = PageAudit(browser, live_server.url)

    result = {path: visit.complaints(cookie, path) for cookie, path in all_pages(company)}

    visit.context.close()
    assert len(result) > 40
    assert {path: several for path, several in result.items() if several} == {}


@pytest.mark.timeout(400)
def test_every_page_of_single_sign_on_is_accessible(
    browser: Browser, live_server: LiveServer, acme: Company, provider: IdentityProvider
) -> None:
    visit = PageAudit(browser, live_server.url)

    pages = enumerate(single_sign_on.pages(acme, provider))
    result = {f"{path} {n}": visit.complaints(cookie, path) for n, (cookie, path) in pages}
    visit.context.clear_cookies()
    result["leave"] = visit.complaints_of(single_sign_on.leave(visit.page, live_server.url))

    visit.context.close()
    assert {path: several for path, several in result.items() if several} == {}


INSERT_VIOLATIONS = """document.querySelector("main").innerHTML = `
    <img src="/static/favicon.svg"><input name="bare"><p class="pale">Бледно</p>
    <div class="wide">${"шире".repeat(400)}</div>`;
const sheet = new CSSStyleSheet();
sheet.replaceSync(".pale { color: #999; background: #aaa } .wide { white-space: nowrap }");
document.adoptedStyleSheets = [sheet];
document.querySelector("main").setAttribute("onclick", "0");"""


def test_audit_detects_violations(
    browser: Browser, live_server: LiveServer, company: Company
) -> None:
    visit = PageAudit(browser, live_server.url)
    assert visit.complaints("", "/account/login/") == []

    visit.page.evaluate(INSERT_VIOLATIONS)
    result = " ".join(visit.judged(320, 640, "light"))
    visit.page.locator("main").dispatch_event("click")  # handlers are compiled when they are due
    visit.page.wait_for_function("window.breaches.length")
    breaches = visit.page.evaluate("window.breaches")

    visit.context.close()
    for complaint in ("image-alt", "label", "color-contrast", "wider than the screen"):
        assert complaint in result
    assert breaches == ["script-src-attr inline"]
    assert INLINE_CODE.findall('<p onclick="0">') == ["<p onclick="]
