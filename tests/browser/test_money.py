"""Buying tokens in a browser: by the sandbox, by a confirmed invoice, and automatically."""

import re
from decimal import Decimal

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from accounts.models import Member
from billing.gateways import registry
from billing.models import AutoTopUp, BalanceAlert, Order, Payment
from billing.orders import method_saving, payments
from billing.wallet import ledger
from tests.billing.orders import automatic
from tests.billing.top_ups import fill_billing_details, payment_event
from tests.browser.signing_in import confirm, sign_in
from tests.factories import PASSWORD, PackageFactory, SellerFactory, TariffFactory, UserFactory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def shopper(page: Page, live_server: LiveServer, settings: Settings) -> Member:
    """A member on the balance page of a company that has never bought anything."""
    settings.PUBLIC_URL = live_server.url  # where the gateway sends its notifications
    registry.forget_settings()
    SellerFactory.create()
    PackageFactory.create()
    TariffFactory.create(tokens_from=100)
    member = sign_in(page, live_server)
    page.get_by_role("link", name="Баланс", exact=True).first.click()
    expect(page.get_by_role("heading", name="Баланс", exact=True)).to_be_visible()
    return member


@pytest.fixture(autouse=True)
def _forget_the_address() -> object:
    yield
    registry.forget_settings()


def test_sandbox_payment_reaches_the_statement(page: Page, shopper: Member) -> None:
    page.get_by_label("Другое количество").check()
    page.get_by_label("Количество токенов").press_sequentially("1 500")
    expect(page.locator("#tokens-quote")).to_contain_text("3\u00a0000,00")
    page.get_by_label("Пробная оплата").check()
    page.get_by_role("button", name="Перейти к оплате").click()
    page.get_by_role("link", name="Оплатить").click()

    page.get_by_role("button", name="Оплатить, сообщить дважды").click()
    expect(page.locator("main .state")).to_have_text("оплачено")
    page.get_by_role("link", name="Вернуться в кабинет").click()
    page.get_by_role("link", name="К балансу").click()

    expect(page.locator(".figure").first).to_have_text("1\u00a0500")
    page.get_by_role("link", name="Выписка", exact=True).click()
    row = page.locator("#statement tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("+1\u00a0500")
    assert ledger.balance(shopper.company_id) == (1500, 0)


def test_page_of_an_order_notices_the_payment(page: Page, shopper: Member) -> None:
    page.get_by_label("Пробная оплата").check()
    page.get_by_role("button", name="Перейти к оплате").click()
    expect(page.locator("#order-status")).to_contain_text("ждёт оплаты")

    order = Order.objects.get()
    context = page.context.browser
    assert context is not None
    other = context.new_page()
    other.goto(order.payment_url)
    other.locator("button[value=pay]").click()
    other.close()

    expect(page.locator("#order-status")).to_contain_text("оплачено")


def test_invoice_is_confirmed_by_the_operator(
    page: Page, browser: Browser, live_server: LiveServer, shopper: Member
) -> None:
    page.get_by_label("Счёт для банка").check()
    page.get_by_role("button", name="Перейти к оплате").click()
    expect(page.get_by_label("Страна")).to_be_visible()
    page.wait_for_load_state()  # the fields follow the country by script
    page.get_by_label("Страна").select_option("KZ")
    expect(page.get_by_label("БИН или ИИН")).to_be_visible()
    # New fields react to changes a moment after they can be seen.
    expect(
        page.locator(".htmx-request, .htmx-swapping, .htmx-settling, .htmx-added")
    ).to_have_count(0)
    page.get_by_label("Страна").select_option("RU")
    expect(page.get_by_label("КПП")).to_be_visible()
    page.get_by_label("Полное название").fill("ООО «Ромашка»")
    page.get_by_label("ИНН").fill("7707083893")
    page.get_by_label("КПП").fill("770701001")
    page.get_by_role("button", name="Сохранить и выставить счёт").click()
    confirm_identity(page)
    expect(page.get_by_label("Полное название")).to_have_value("ООО «Ромашка»")
    page.get_by_role("button", name="Сохранить и выставить счёт").click()
    expect(page.get_by_role("heading", name="Как оплатить")).to_be_visible()
    page.get_by_role("link", name="Открыть счёт").click()
    expect(page.get_by_role("heading", name="Счёт на оплату")).to_be_visible()
    expect(page.get_by_alt_text("Код для оплаты")).to_be_visible()
    page.go_back()

    operate(browser, live_server, Order.objects.get())

    expect(page.locator("#order-status")).to_contain_text("оплачено")
    assert ledger.balance(shopper.company_id) == (1000, 0)
    assert Payment.objects.get().amount == Decimal(1900)


def confirm_identity(page: Page) -> None:
    expect(page.get_by_role("heading", name="Это вы?")).to_be_visible()
    page.get_by_label("Пароль", exact=True).fill(PASSWORD)
    page.locator("main form button[type=submit]").first.click()


def operate(browser: Browser, live_server: LiveServer, order: Order) -> None:
    """Finds the invoice by its number as the operator, and confirms the transfer."""
    user = UserFactory.create(is_staff=True, is_superuser=True)
    context = browser.new_context(locale="ru-RU")
    admin = context.new_page()
    admin.goto(f"{live_server.url}/account/login/?next=/admin/billing/order/")
    admin.locator("input[name=login]").fill(user.email)
    admin.locator("input[name=password]").fill(PASSWORD)
    admin.locator("main form button[type=submit]").click()
    admin.get_by_role("link", name=order.number, exact=True).click()
    admin.get_by_role("link", name="Подтвердить оплату").click()
    admin.locator("input[name=amount]").fill("1900,00")
    admin.locator("input[name=paid_on]").fill(f"{timezone.localdate():%Y-%m-%d}")
    admin.locator("input[name=reference]").fill("15")
    admin.locator("input[type=submit]").click()
    expect(admin.get_by_text("Оплата подтверждена.")).to_be_visible()
    context.close()


def test_top_up_is_cancelled_after_asking(page: Page, shopper: Member) -> None:
    fill_billing_details(shopper.company)
    page.get_by_role("button", name="Перейти к оплате").click()
    page.get_by_role("link", name="Отменить пополнение").click()
    page.get_by_role("button", name="Отменить пополнение").click()

    expect(page.locator("#order-status")).to_contain_text("отменено")
    assert Order.objects.get().state == "canceled"


def test_balance_and_its_settings_fit_a_phone(page: Page, shopper: Member) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    page.get_by_label("Сообщить, когда доступных").fill("500")
    page.get_by_role("button", name="Сохранить").click()
    expect(page.get_by_label("Сообщить, когда доступных")).to_have_value("500")

    page.locator(".tabs summary").click()
    page.get_by_role("link", name="Реквизиты").click()
    page.get_by_label("Полное название").fill("ООО «Ромашка»")
    page.get_by_role("button", name="Сохранить").click()
    confirm_identity(page)
    expect(page.get_by_label("Полное название")).to_have_value("ООО «Ромашка»")
    page.get_by_role("button", name="Сохранить").click()
    expect(page.get_by_text("Реквизиты сохранены.")).to_be_visible()
    expect(page.get_by_label("Полное название")).to_have_value("ООО «Ромашка»")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


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
    method_saving.save_next_method("sandbox")

    ledger.withdraw(company=company, amount=ledger.balance(company.pk).available, reason="test")
    assert automatic.run() == 1
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
    assert not AutoTopUp.objects.get().is_enabled
    page.set_viewport_size({"width": 320, "height": 900})
    wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert not page.evaluate(wide)


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
