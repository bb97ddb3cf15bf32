"""The page of the protection against pumped SMS."""

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import Company
from otp.models import GuardRestriction
from otp.protection import week_replay
from tests.browser.signing_in import sign_in
from tests.otp.protection.sends import sent

pytestmark = pytest.mark.django_db(transaction=True)


def opened(page: Page, live_server: LiveServer) -> Company:
    """Opens the page from the menu, where people find it; returns the company."""
    company = sign_in(page, live_server).company
    page.get_by_role("link", name="Настройки", exact=True).click()
    page.get_by_role("link", name="Защита", exact=True).click()
    expect(page.get_by_text("Ничего: все коды уходят как обычно.")).to_be_visible()
    return company


def test_mode_is_chosen(page: Page, live_server: LiveServer) -> None:
    company = opened(page, live_server)

    page.get_by_label("Только смотреть").check()
    page.get_by_role("button", name="Сохранить", exact=True).click()
    expect(page.get_by_text("Сохранено: подействует")).to_be_visible()
    expect(page.get_by_label("Только смотреть")).to_be_checked()

    page.get_by_label("Выключена").check()
    page.get_by_label("Быть строже там, где атакуют другие компании").uncheck()
    page.get_by_role("button", name="Сохранить", exact=True).click()
    expect(page.get_by_text("Защита выключена.")).to_be_visible()
    company.refresh_from_db()
    assert (company.guard_mode, company.guard_watches_others) == ("off", False)
    expect(page.get_by_label("Быть строже там, где атакуют другие компании")).not_to_be_checked()


def test_restriction_is_lifted_after_a_question(page: Page, live_server: LiveServer) -> None:
    company = opened(page, live_server)
    now = timezone.now()
    GuardRestriction.objects.create(
        company=company,
        kind="prefix-4",
        value="+7916123",
        step=GuardRestriction.Step.REFUSE,
        rule="unverified",
        is_enforced=True,
        codes=12,
        excess=176,
        stopped=3,
        began_at=now,
        until=now + timedelta(hours=1),
    )
    page.reload()
    row = page.get_by_role("row", name="+7916123••••")
    expect(row).to_contain_text("введено 0 из 12; токенов сверх обычного: 176")

    row.get_by_role("link", name="Снять").click()
    page.get_by_role("link", name="Отмена").click()
    row.get_by_role("link", name="Снять").click()
    page.get_by_role("button", name="Пропустить на час").click()

    expect(page.get_by_text("Снято: отправки туда проходят ещё час.")).to_be_visible()
    through = page.get_by_role("region", name="Пропускаются")
    expect(through.get_by_role("row", name="+7916123••••")).to_be_visible()
    past = page.get_by_role("region", name="Раньше")
    expect(past.get_by_role("row", name="+7916123••••")).to_be_visible()


def test_numbers_are_let_through_before_a_sale(page: Page, live_server: LiveServer) -> None:
    opened(page, live_server)

    page.get_by_role("button", name="Пропустить", exact=True).click()
    expect(page.get_by_text("Укажите либо номер, либо страну.").first).to_be_visible()
    page.get_by_label("Любой номер диапазона").fill("+7 (916) 123-45-67")
    page.get_by_role("button", name="Пропустить", exact=True).click()
    expect(page.get_by_role("row", name="+7916123••••")).to_be_visible()
    page.get_by_label("Страна").select_option("KZ")
    page.get_by_role("button", name="Пропустить", exact=True).click()

    expect(page.get_by_role("row", name="Казахстан")).to_be_visible()


def test_last_week_is_looked_at(page: Page, live_server: LiveServer) -> None:
    company = opened(page, live_server)
    sent(company, ago=3600.0, entered_after=9.0)

    page.get_by_role("button", name="Посмотреть", exact=True).click()
    expect(page.get_by_text("Готовится.")).to_be_visible()
    week_replay.make_next()

    expect(page.get_by_text("Просмотрено кодов")).to_be_visible()
    page.get_by_role("button", name="Посмотреть снова").click()
    expect(page.get_by_text("Готовится.")).to_be_visible()
