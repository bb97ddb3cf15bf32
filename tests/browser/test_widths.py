"""Pages and mail fit every width of a screen."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, Page
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from accounts.models import Company
from billing.seals import sealing
from operator_admin.models import Alert
from tests.accounts.oidc.conftest import acme, identity_provider, provider
from tests.accounts.outbox.test_mail_texts import OURS, of_ours
from tests.billing.seals.books import at, charged
from tests.browser import single_sign_on
from tests.browser.people import owner_of, session_cookie
from tests.cabinet.pages import create_content
from tests.factories import ApiKeyFactory, CompanyFactory, LinkFactory, MemberFactory
from tests.identity_provider import IdentityProvider
from tests.operator_admin.operators import make_operator, sign_in

pytestmark = pytest.mark.django_db(transaction=True)
__all__ = ["acme", "identity_provider", "provider"]

WIDTHS = (320, 360, 600, 768, 1024, 1200)
CABINET = (
    *("overview", "message-list", "link-list", "key-list", "member-list", "balance"),
    *("balance-order-list", "balance-statement", "balance-seals", "webhook-list", "text-list"),
    "hook-list",
    *("audit-list", "settings", "balance-profile", "test-phone"),
)
LONG_NAME = "ООО «Производственно-коммерческое объединение Северо-Западного округа»"

# What sticks out of the screen, and what can be pressed in a row but is cut off, hidden or tiny.
JUDGE = """() => {
    const found = [];
    const over = document.documentElement.scrollWidth - innerWidth;
    const say = (one) => one.outerHTML.replace(/\\s+/g, " ").slice(0, 90);
    if (over > 0) {
        const wide = [...document.querySelectorAll("body *")]
            .filter((one) => one.getBoundingClientRect().right > innerWidth + 1);
        found.push(`page: ${over} px too wide: ${wide.slice(0, 2).map(say)}`);
    }
    for (const one of document.querySelectorAll("main a, main button, main input, main select")) {
        const box = one.getBoundingClientRect();
        if (!one.checkVisibility() || one.closest(".visually-hidden, .snippet, pre")) continue;
        if (!box.width || one.type === "hidden") continue;
        let left = -Infinity, right = Infinity;
        for (let up = one.parentElement; up; up = up.parentElement) {
            const flow = getComputedStyle(up).overflowX;
            if (up.matches("tr") || (flow === "visible" && up.parentElement)) continue;
            if (flow !== "hidden" && up.scrollWidth > up.clientWidth) break; // it scrolls there
            const frame = up.getBoundingClientRect();
            left = Math.max(left, frame.left); right = Math.min(right, frame.right);
            if (up === document.documentElement) right = Math.min(right, innerWidth);
        }
        if (box.left < left - 1 || box.right > right + 1) found.push(`cut off: ${say(one)}`);
    }
    return found;
}"""


@pytest.fixture
def company() -> Company:
    company: Company = CompanyFactory.create(name=LONG_NAME)
    create_content(company)
    charged(company, at(0), at(1))
    sealing.seal()
    ApiKeyFactory.create(company=company, name="Ключ боевого сервера интернет-магазина, склад № 2")
    MemberFactory.create(
        company=company, user__email=f"{'very.long.name' * 3}@department.example.com"
    )
    LinkFactory.create(company=company, url="https://shop.example/" + "catalogue-" * 20)
    return company


@pytest.fixture
def at_work(browser: Browser, live_server: LiveServer, company: Company) -> Iterator[Page]:
    context = browser.new_context(base_url=live_server.url, locale="ru-RU")
    cookie = session_cookie(owner_of(company))
    context.add_cookies([{"name": "session", "value": cookie, "url": live_server.url}])
    yield context.new_page()
    context.close()


def faults(page: Page, path: str, widths: tuple[int, ...] = WIDTHS) -> list[Any]:
    page.goto(path)
    return faults_here(page, path, widths)


def faults_here(page: Page, path: str, widths: tuple[int, ...] = WIDTHS) -> list[Any]:
    result = []
    for width in widths:
        page.set_viewport_size({"width": width, "height": 800})
        result += [f"{path} at {width}: {fault}" for fault in page.evaluate(JUDGE)]
    return result


def test_cabinet_fits_every_width(at_work: Page, company: Company) -> None:
    result = [fault for name in CABINET for fault in faults(at_work, reverse(name))]

    assert result == []


def test_cabinet_fits_with_letters_twice_as_large(at_work: Page, company: Company) -> None:
    result = []
    at_work.set_viewport_size({"width": 1280, "height": 800})
    for name in CABINET:
        at_work.goto(reverse(name))
        at_work.evaluate("document.documentElement.style.fontSize = '200%'")
        result += [f"{name}: {fault}" for fault in at_work.evaluate(JUDGE)]

    assert result == []


ADMIN_PAGES = (
    *("index", "queue", "providers", "system", "alerts", "persons"),
    *("channels_message_changelist", "channels_attempt_changelist"),
    *("accounts_company_changelist", "accounts_member_changelist"),
    *("accounts_apikey_changelist", "accounts_auditevent_changelist", "links_link_changelist"),
    *("billing_wallet_changelist", "billing_order_changelist", "billing_payment_changelist"),
    *(
        "billing_package_add",
        "billing_seller_add",
        "billing_wallet_adjust",
        "links_report_changelist",
    ),
    *("auth_group_add", "accounts_user_changelist", "channels_blockedphone_add"),
)


@pytest.fixture
def admin_page(browser: Browser, live_server: LiveServer, company: Company) -> Iterator[Page]:
    client = Client()
    sign_in(client, make_operator(), "password", "mfa")
    context = browser.new_context(base_url=live_server.url, locale="ru-RU")
    cookie = client.cookies["session"].value
    context.add_cookies([{"name": "session", "value": cookie, "url": live_server.url}])
    yield context.new_page()
    context.close()


def test_admin_fits_every_width(admin_page: Page, company: Company) -> None:
    message = company.messages.filter(state="delivered")[0]
    now = timezone.now()
    said = "wallet differs from its transfers: company 1; " * 5
    Alert.objects.create(
        rule="ledger-breach", details={"reason": said}, began_at=now, due_at=now, notices=1
    )
    paths = [reverse(f"admin:{name}") for name in ADMIN_PAGES]
    paths += [
        reverse("admin:channels_message_change", args=[message.pk]),
        reverse("admin:accounts_company_change", args=[company.pk]),
        reverse("admin:company-status", args=["suspended"]) + f"?ids={company.pk}",
        reverse("admin:billing_wallet_adjust") + "?q=ООО",
        reverse("admin:billing_wallet_adjust") + f"?company={company.pk}",
    ]

    result = [fault for path in paths for fault in faults(admin_page, path)]

    assert result == []


def test_single_sign_on_fits_every_width(
    browser: Browser,
    live_server: LiveServer,
    acme: Company,
    provider: IdentityProvider,
    settings: Settings,
) -> None:
    settings.OIDC_NAME = single_sign_on.LONG_HOST
    context = browser.new_context(base_url=live_server.url, locale="ru-RU")
    page = context.new_page()
    result = []

    for cookie, path in single_sign_on.pages(acme, provider):
        context.clear_cookies()
        if cookie:
            context.add_cookies([{"name": "session", "value": cookie, "url": live_server.url}])
        result += faults(page, path)
    context.clear_cookies()
    single_sign_on.open_redirect_page(page, live_server.url)
    result += faults_here(page, "leave")

    context.close()
    assert result == []


def test_mail_fits_a_phone(browser: Browser) -> None:
    company = CompanyFactory.create(name=LONG_NAME)
    page = browser.new_page(viewport={"width": 320, "height": 640})
    result = []

    for name in OURS:
        with transaction.atomic():
            page.set_content(of_ours(name, company, "ru").html)
            transaction.set_rollback(True)
        result += [f"{name}: {fault}" for fault in page.evaluate(JUDGE)]

    page.close()
    assert result == []
