"""The overview: its period, its chart and the way to the messages behind a number."""

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.browser.clicks import ClickCounter
from tests.browser.signing_in import sign_in
from tests.factories import MessageFactory, VerificationFactory

pytestmark = pytest.mark.django_db(transaction=True)


def test_reason_of_a_failure_is_two_clicks_away(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)
    now = timezone.now()
    MessageFactory.create(
        company=member.company,
        state="failed",
        error="recipient_unreachable",
        is_undelivered=True,
        created_at=now - timedelta(days=3),
        finished_at=now,
    )
    MessageFactory.create_batch(6, company=member.company)
    clicks = ClickCounter(page)

    page.get_by_role("link", name="1 не доставлено").click()
    expect(page.locator("#messages tbody .cell-note")).to_be_visible()
    page.locator("#messages tbody a").first.click()

    expect(page.get_by_text("Что делать:")).to_be_visible()
    assert clicks.count() <= 2


def test_period_is_chosen_and_kept(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)
    MessageFactory.create(company=member.company, created_at=timezone.now() - timedelta(days=20))

    page.get_by_role("link", name="30 дней").click()
    expect(page.locator("section", has=page.locator("#sent")).locator(".figure")).to_have_text("1")
    page.get_by_role("link", name="Тестовые", exact=True).click()
    expect(page.get_by_role("link", name="30 дней")).to_have_attribute("aria-current", "true")
    page.get_by_text("Свои даты").click()
    today = timezone.localdate()
    page.get_by_label("С", exact=True).fill(f"{today:%Y-%m-%d}")
    page.get_by_label("По", exact=True).fill(f"{today:%Y-%m-%d}")
    page.get_by_role("button", name="Показать").click()

    expect(page.locator(".chart, .card").first).to_be_visible()
    expect(page.get_by_label("С", exact=True)).to_have_value(f"{today:%Y-%m-%d}")


def test_breakdown_leads_to_its_messages(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)
    code = VerificationFactory.create(company=member.company, purpose="login")
    MessageFactory.create(company=member.company, subject_id=code.id, phone="+79161234567")
    MessageFactory.create(company=member.company, kind="link", phone="+77011234567")
    page.reload()

    for name, row in (
        ("По каналам", "WhatsApp"),
        ("По странам", "Казахстан"),
        ("По назначению", "login"),
        ("По API-ключам", "без ключа: кабинет, серверы входа"),
    ):
        page.get_by_role("link", name=name, exact=True).click()
        expect(page.get_by_role("link", name=name, exact=True)).to_have_attribute(
            "aria-current", "true"
        )
        with page.expect_download() as download:
            page.get_by_role("link", name="Скачать CSV").first.click()
        assert download.value.suggested_filename.endswith(".csv")
        page.get_by_role("link", name=row, exact=True).click()
        expect(page.locator("#messages tbody tr").first).to_be_visible()
        page.go_back()
