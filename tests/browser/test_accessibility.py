"""Every page: WCAG A and AA by axe, from a phone to a desktop, in both themes.

On the way each page is held to its content policy, to handlers and styles kept out of the markup,
and to the width of the screen.
"""

import pytest
from django.urls import clear_url_caches
from playwright.sync_api import Browser
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from accounts.models import Company
from tests.accounts.oidc.conftest import acme, identity_provider, provider
from tests.browser import single_sign_on
from tests.browser.page_audit import INLINE_CODE, PageAudit
from tests.browser.people import all_pages
from tests.cabinet.pages import create_content
from tests.factories import CompanyFactory
from tests.identity_provider import IdentityProvider

pytestmark = pytest.mark.django_db(transaction=True)
__all__ = ["acme", "identity_provider", "provider"]


@pytest.fixture
def company(settings: Settings) -> Company:
    settings.ROOT_URLCONF = "tests.browser.urls"
    clear_url_caches()
    company = CompanyFactory.create(name="Ромашка")
    create_content(company)
    return company


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
    result["leave"] = visit.complaints_of(
        single_sign_on.open_redirect_page(visit.page, live_server.url)
    )

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
