import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from billing.models import BalanceAlert
from tests.browser.test_cabinet import sign_in

pytestmark = pytest.mark.django_db(transaction=True)


def test_alerts_are_added_and_removed(page: Page, live_server: LiveServer) -> None:
    sign_in(page, live_server)
    page.goto(f"{live_server.url}/cabinet/balance")
    page.get_by_label("За чем следить", exact=True).select_option("days")
    page.get_by_label("Порог", exact=True).fill("5")

    page.get_by_role("button", name="Добавить уведомление").click()

    expect(page.get_by_text("токенов меньше чем на 5 дней")).to_be_visible()
    page.get_by_label("За чем следить", exact=True).select_option("budget")
    page.get_by_label("Порог", exact=True).fill("101")
    page.get_by_role("button", name="Добавить уведомление").click()
    expect(page.get_by_role("alert").filter(has_text="не больше 100")).to_be_visible()

    page.get_by_role("button", name="Удалить осталось дней").click()
    expect(page.get_by_text("Пока нет.")).to_be_visible()
    assert not BalanceAlert.objects.exists()
