import re
from decimal import Decimal

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from billing.models import AutoTopUp, Order
from billing.orders import auto_top_up, payments
from billing.wallet import ledger
from tests.billing.top_ups import payment_event
from tests.browser.test_cabinet import confirm, sign_in
from tests.factories import PackageFactory

pytestmark = pytest.mark.django_db(transaction=True)


def test_owner_turns_automatic_top_ups_on_and_off(page: Page, live_server: LiveServer) -> None:
    company = sign_in(page, live_server).company
    PackageFactory.create(tokens=1000, price=Decimal("1900.00"), currency="RUB")
    page.goto(f"{live_server.url}/cabinet/balance")
    page.get_by_role("link", name="Автопополнение").click()
    expect(page.get_by_role("heading", name="Выключено")).to_be_visible()

    page.get_by_label("Когда доступно меньше токенов, чем").fill("100")
    page.get_by_label("Пробная оплата").check()
    page.get_by_label("Не больше, ₽ в месяц").fill("10 000")
    page.get_by_label("Я согласен").check()
    page.get_by_role("button", name="Включить").click()
    confirm(page)
    expect(page.get_by_label("Я согласен")).to_be_checked()
    page.get_by_role("button", name="Включить").click()
    expect(page).to_have_url(re.compile("/balance/top-ups/"))
    page.goto(f"{live_server.url}/cabinet/balance/automatic")
    page.get_by_role("button", name="Оплатить и сохранить карту").click()
    expect(page).to_have_url(re.compile("/balance/top-ups/"))
    payments.apply_event("sandbox", payment_event(Order.objects.latest("pk")))
    auto_top_up.keep_methods()

    ledger.withdraw(company=company, amount=ledger.balance(company.pk)[0], reason="test")
    assert auto_top_up.run() == 1
    page.goto(f"{live_server.url}/cabinet/balance/automatic")
    expect(page.get_by_text("Demo •••• 4242")).to_be_visible()
    expect(page.get_by_role("heading", name="Куплено автоматически")).to_be_visible()
    page.get_by_role("button", name="Выключить").click()
    expect(page.get_by_role("status").filter(has_text="Автопополнение выключено")).to_be_visible()
    page.get_by_label("Не больше, ₽ в месяц").fill("10 000")
    page.get_by_label("Я согласен").check()
    page.get_by_role("button", name="Включить").click()
    expect(page.get_by_role("status").filter(has_text="Автопополнение включено")).to_be_visible()

    AutoTopUp.objects.update(paused_at="2026-11-25T12:00:00Z", paused_for="declined")
    page.reload()
    page.get_by_role("button", name="Возобновить").click()
    expect(page.get_by_role("heading", name="Включено")).to_be_visible()
    page.get_by_role("button", name="Удалить карту").click()
    expect(page.get_by_role("heading", name="Выключено")).to_be_visible()
    assert not AutoTopUp.objects.get().is_on
    page.set_viewport_size({"width": 320, "height": 900})
    wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert not page.evaluate(wide)
