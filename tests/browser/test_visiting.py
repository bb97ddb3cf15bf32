"""A visitor's browser on the small pages behind short links."""

import pytest
from playwright.sync_api import Page, Response
from pytest_django.live_server_helper import LiveServer

from links.models import Report
from tests.browser.test_accessibility import AXE, JUDGE, RULES, THEMES, Theme
from tests.factories import LinkFactory


def elsewhere(live_server: LiveServer) -> str:
    """Another origin to the browser, as targets are."""
    return live_server.url.replace("localhost", "127.0.0.1")


def test_button_leads_to_another_site(page: Page, live_server: LiveServer) -> None:
    target = f"{elsewhere(live_server)}/docs"
    link = LinkFactory.create(is_once=True, url=target)
    page.goto(f"{live_server.url}/{link.slug}")

    page.get_by_role("button", name="Открыть").click()
    page.wait_for_url(target)
    link.refresh_from_db()

    assert target != f"{live_server.url}/docs"
    assert link.used_at is not None


def test_link_is_reported(page: Page, live_server: LiveServer) -> None:
    link = LinkFactory.create(url="https://shop.example/reset/password?from=sms&lang=ru")
    page.goto(f"{live_server.url}/{link.slug}+")

    page.get_by_label("выдаёт себя за кого-то другого").check()
    page.get_by_label("Своими словами, если хотите").fill("Просит пароль от банка")
    page.get_by_role("button", name="Пожаловаться").click()

    page.get_by_role("heading", name="Спасибо").wait_for()
    assert list(Report.objects.values_list("reason", "words")) == [
        ("phishing", "Просит пароль от банка")
    ]


def test_trap_is_seen_by_machines_alone(page: Page, live_server: LiveServer) -> None:
    link = LinkFactory.create()
    page.goto(f"{live_server.url}/{link.slug}+")

    for _ in range(9):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.name") != "website"
    box = page.locator("input[name=website]").bounding_box()
    assert box is not None
    assert box["x"] < 0


def test_pages_fit_a_phone(page: Page, live_server: LiveServer) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    long = "https://shop.example/" + "catalogue/" * 30
    links = [LinkFactory.create(url=long), LinkFactory.create(url=long, is_once=True)]

    for path in (links[0].slug + "+", links[1].slug):
        answer: Response | None = page.goto(f"{live_server.url}/{path}")
        assert answer is not None
        assert page.evaluate("document.documentElement.scrollWidth") == 360


@pytest.mark.parametrize("theme", THEMES)
def test_pages_are_for_everybody(page: Page, live_server: LiveServer, theme: Theme) -> None:
    page.emulate_media(color_scheme=theme)
    slugs = [LinkFactory.create().slug, LinkFactory.create(is_once=True).slug]

    for path in (f"{slugs[0]}+", slugs[1]):
        page.goto(f"{live_server.url}/{path}")
        page.evaluate(AXE)
        assert page.evaluate(JUDGE, [RULES, theme == "dark"]) == []
